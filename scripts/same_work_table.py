#!/usr/bin/env python3
"""Prints the table of beyond/same-work: every scheme on every work.

target/release/trimline reproduce beyond/same-work
.venv/bin/python scripts/same_work_table.py out/beyond/same-work
"""

from __future__ import annotations

import sys
from pathlib import Path

from trimline.files import MalformedResult
from trimline.plot.results import Experiment
from trimline.plot.same_work import rows, table

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(table(rows(Experiment.read(Path(sys.argv[1]), "beyond/same-work"))), end="")
    except MalformedResult as error:
        sys.exit(f"error: {error}")
