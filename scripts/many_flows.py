#!/usr/bin/env python3
"""Memory of a run with many flows: peak of the process, and how many flows it ran.

    make release && python3 scripts/many_flows.py [--flows N] [--max-mb MB] [--transport ndp|tcp|dctcp]

128 hosts in a FatTree, flows of 10 KB, Poisson arrivals at half of each host's link: memory holds the flows
under way, up to a limit of records, and one distribution of the summary. Fails above `--max-mb`.
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

# Flows that all hosts start in a second: half of 10 Gb/s each, over 80,000 bits.
FLOWS_PER_SECOND = 128 * 5_000_000_000 // 80_000


def scenario(flows: int, transport: str) -> str:
    duration_us = flows * 1_000_000 // FLOWS_PER_SECOND
    return f"""\
duration = "{duration_us}us"
topology.fattree.k = 8
transport.{transport} = {{}}
[[workload]]
name = "mice"
random = {{}}
size = "10KB"
arrivals.poisson.load = "50%"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flows", type=int, default=5_000_000)
    parser.add_argument("--max-mb", type=float, default=300.0)
    parser.add_argument("--transport", default="ndp")
    parser.add_argument("--trimline", default="target/release/trimline")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "many.toml").write_text(scenario(options.flows, options.transport), encoding="utf-8")
        out = path / "out"
        command = [options.trimline, "run", str(path / "many.toml"), "--out", str(out)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            print("the run failed", file=sys.stderr)
            return 1
        with next(out.rglob("flows.csv")).open(newline="", encoding="utf-8") as file:
            rows = sum(1 for _ in csv.reader(file)) - 1
    megabytes = usage.ru_maxrss * 1024 / 1e6
    print(f"{rows} flows: {megabytes:.1f} MB at the peak, {usage.ru_utime + usage.ru_stime:.1f} s")
    if megabytes > options.max_mb:
        print(f"more than {options.most_mb} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
