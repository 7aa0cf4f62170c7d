#!/usr/bin/env python3
"""Counts the lines that endpoints of transports share.

Counts, for each crates/transport/src/*/endpoint.rs, the lines that also stand in at least two other endpoint.rs files.
Lines are compared without indentation. Imports, comments, attributes, braces with or without `else`, and lines of less
than 8 characters do not count. Prints a table; the exit status is 1 if a file has more shared lines than --max.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "crates" / "transport" / "src"
MIN_LENGTH = 8


def counted_lines(path):
    """The lines of a file that count, in order, without the statements `use`."""
    lines, in_import = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        in_import = in_import or line.startswith(("use ", "pub use "))
        if in_import:
            in_import = not line.endswith(";")
        elif len(line) >= MIN_LENGTH and not line.startswith(("//", "#[", "} else {")):
            lines.append(line)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max", type=int, default=40, help="maximum of shared lines in a file (default: 40)")
    parser.add_argument("--lines", metavar="TRANSPORT", help="also print the shared lines of one transport")
    options = parser.parse_args()

    files = {path.parent.name: counted_lines(path) for path in sorted(SOURCES.glob("*/endpoint.rs"))}
    holders = Counter(line for lines in files.values() for line in set(lines))
    shared = {name: [line for line in lines if holders[line] >= 3] for name, lines in files.items()}

    print(f"{'endpoint':<10} {'lines':>5} {'shared':>6}")
    for name, lines in files.items():
        print(f"{name:<10} {len(lines):>5} {len(shared[name]):>6}")
    if options.lines:
        print("\n".join(shared[options.lines]))
    return int(any(len(lines) > options.max for lines in shared.values()))


if __name__ == "__main__":
    sys.exit(main())
