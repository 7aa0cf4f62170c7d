#!/usr/bin/env python3
"""Measures what it takes to open a result of ten million flows: seconds and peak memory, each step in a process of
its own.

    .venv/bin/python scripts/large_result.py [--flows N] [--out DIR] [--limit-mb MB]

The flows of one run (128 hosts, sizes of a web search cluster) are repeated with numbers of their own until the
result has N flows. Exit status: 0 every step within the limit, 1 one beyond it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

SCENARIO = {
    "name": "large",
    "duration": "20ms",
    "topology": {"fattree": {"hosts": 128}},
    "workload": [
        {
            "name": "web",
            "random": {},
            "size": {"distribution": "web-search"},
            "arrivals": {"poisson": {"load": "40%"}},
        }
    ],
}

#: What a user does with a result.
STEPS = {
    "a quantile, lazily": "results.scan().select(polars.col('fct_receiver_ps').quantile(0.99)).collect()",
    "results.flows, every column": "assert len(results.flows) == count",
    "the table of trimline compare": "comparison.table(results)",
    "the report": "reporting.report(results.folder)",
}

PROLOGUE = "import sys, polars\nfrom trimline import comparison, reporting\nfrom trimline.results import Results\n"
PROLOGUE += "results, count = Results.read(sys.argv[1]), int(sys.argv[2])\n"


def make(folder: Path, flows: int) -> int:
    """The result; gives its number of flows."""
    import trimline  # noqa: PLC0415

    shutil.rmtree(folder, ignore_errors=True)
    trimline.run(SCENARIO, folder)
    path = folder / "seed-1/flows.csv"
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    assert head.split(",")[:2] == ["workload", "index"], head
    parts = [row.split(",", 2) for row in rows]
    made = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(head + "\n")
        while made < flows:
            own = parts[: flows - made]
            file.writelines(f"{name},{made + n},{rest}\n" for n, (name, _, rest) in enumerate(own))
            made += len(own)
    return made


def main() -> int:
    """0, or 1 when a step takes more than the limit."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--flows", type=int, default=10_000_000)
    arguments.add_argument("--out", type=Path, default=Path("out/large"))
    arguments.add_argument("--limit-mb", type=int, default=2000)
    options = arguments.parse_args()
    count = make(options.out, options.flows)
    size = (options.out / "seed-1/flows.csv").stat().st_size / 1e6
    print(f"{count} flows, flows.csv {size:.0f} MB")
    print("| step | s | peak memory, MB |\n|---|---|---|")
    worst = 0.0
    for name, code in STEPS.items():
        peak = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", f"{PROLOGUE}{code}\n{peak}", str(options.out), str(count)],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds, megabytes = time.monotonic() - begin, int(done.stdout.split()[-1]) * 1024 / 1e6
        worst = max(worst, megabytes)
        print(f"| {name} | {seconds:.1f} | {megabytes:.0f} |", flush=True)
    shutil.rmtree(options.out)
    if worst > options.limit_mb:
        print(f"more than {options.limit_mb} MB", file=sys.stderr)
    return int(worst > options.limit_mb)


if __name__ == "__main__":
    sys.exit(main())
