#!/usr/bin/env python3
"""Prints the gain that a switch could bring at most.

    target/release/trimline run experiments/opf/map/scenario.toml
    python3 scripts/best_case.py incast out/experiments/opf/map/ndp

Every flow of the workload gets its ideal time, and the others keep theirs. Each line is a run below
the folder: the share of the workload's flows among the flows below 100 KB, and by how many percent
the median, mean and 99th percentile of their FCT and the mean goodput of all flows would change.
The last number is the change of the median if all flows had their ideal times. Flows that have not
ended count nowhere. Only the standard library.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from statistics import fmean

SHORT = 100_000


def quantile(values: list[float], share: float) -> float:
    """Returns a quantile, linear between two values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def best_case(path: Path, workload: str) -> str:
    """Returns the line of a run."""
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["end"] == "completed"]
    flows = [
        (int(row["size_bytes"]), int(row["fct_receiver_ps"]), int(row["ideal_fct_ps"]), mine)
        for row in rows
        for mine in [row["workload"] == workload]
    ]
    short = [flow for flow in flows if flow[0] < SHORT]
    before = [fct for _, fct, _, _ in short]
    after = [ideal if mine else fct for _, fct, ideal, mine in short]
    goodput = fmean(size / fct for size, fct, _, _ in flows)
    best = fmean(size / (ideal if mine else fct) for size, fct, ideal, mine in flows)
    changes = {
        "median": quantile(after, 0.5) / quantile(before, 0.5),
        "mean": fmean(after) / fmean(before),
        "p99": quantile(after, 0.99) / quantile(before, 0.99),
        "goodput": best / goodput,
    }
    share = 100 * sum(mine for *_, mine in short) / len(short)
    idle = quantile([ideal for _, _, ideal, _ in short], 0.5) / quantile(before, 0.5)
    changes["median of ideal times"] = idle
    words = ", ".join(f"{name} {100 * (change - 1):+.1f} %" for name, change in changes.items())
    return f"{share:.1f} % of the short flows; {words}"


def main() -> int:
    """Prints a line for each run."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    workload, folder = sys.argv[1], Path(sys.argv[2])
    for path in sorted(folder.rglob("flows.csv")):
        print(f"{path.parent.relative_to(folder)}: {best_case(path, workload)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
