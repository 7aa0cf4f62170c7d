"""A small incast and a folder of its own for each test."""

from __future__ import annotations

import os
import signal
import tempfile
import unittest
from pathlib import Path
from typing import Any

INCAST: dict[str, Any] = {
    "name": "incast",
    "duration": "1ms",
    "topology": {"fattree": {"k": 4}},
    "workload": [
        {"name": "replies", "incast": {"receiver": 0, "senders": 10}, "size": "90KB"},
        {"name": "background", "permutation": {}, "size": "long-lived"},
    ],
    "output": {"ports": True, "series": "50us", "timeline": {"places": ["tor 0 down 0"]}},
}


def finished(folder: Path) -> int:
    """Runs with a manifest, while folders come, go and are renamed."""
    return sum("manifest.json" in names for _, _, names in os.walk(folder))


def files(folder: Path) -> dict[str, bytes]:
    """The files that must repeat: all but the manifest, which has the wall time."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in found
        if path.name not in ("manifest.json", "report.html")
    }


class InScratch(unittest.TestCase):
    """A folder of its own for each test."""

    @classmethod
    def setUpClass(cls) -> None:
        """A shell lets background processes ignore Ctrl-C; the processes tested here must not."""
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def setUp(self) -> None:
        """Makes the folder."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name)
