"""The `trimline` command."""

from __future__ import annotations

import os
import signal
import sys

from trimline import _core


def main() -> int:
    """Runs the command; figures are then drawn by this Python."""
    os.environ.setdefault("TRIMLINE_PYTHON", sys.executable)
    # Commands that catch Ctrl-C also call the handler of before: Python would raise behind them.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(["trimline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
