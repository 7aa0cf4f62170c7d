#!/usr/bin/env python3
"""Slowdown by flow size, as the scripts of HPCC's authors print it: each row has the same share of the flows.

Reads the flows.csv of all runs of each series, sorts the flows that ended by size, and cuts them into equal parts, or
at the sizes of --limits. A row has the part's largest size in bytes, and median, 95th and 99th percentile of the
slowdown at the sender, or at the receiver.

    scripts/slowdown_by_size.py OUT [--workload NAME] [--parts 20 | --limits BYTES,BYTES..] [--at receiver] [--csv]

OUT holds the series of one experiment or run, such as out/hpcc/hadoop. Python standard library only.

Exit status: 0 done, 1 no flow ended, 2 misuse.
"""

import argparse
import bisect
import csv
import math
import sys
from pathlib import Path

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def read(path, workload, fct, ideal):
    """Yields size and slowdown of each flow that ended, by these columns."""
    with path.open() as file:
        for row in csv.DictReader(file):
            is_chosen = workload in (None, row["workload"])
            if is_chosen and row["size_bytes"] and row[fct] and row[ideal]:
                yield int(row["size_bytes"]), int(row[fct]) / int(row[ideal])


def quantile(values, share):
    """The least value that a share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def rows(flows, parts, limits):
    """The largest size of each part, its number of flows, and percentiles of their slowdowns."""
    flows = sorted(flows)
    ends = [part * len(flows) // parts for part in range(parts + 1)]
    if limits:
        ends = [0, *(bisect.bisect_right(flows, (limit, math.inf)) for limit in limits), len(flows)]
    for first, end in zip(ends, ends[1:]):
        chosen = flows[first:end]
        if chosen:
            slowdowns = [slowdown for _, slowdown in chosen]
            yield chosen[-1][0], len(chosen), *(quantile(slowdowns, each) for each in SHARES.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("--workload", metavar="NAME", help="flows of this workload only")
    cuts = parser.add_mutually_exclusive_group()
    cuts.add_argument("--parts", type=int, default=20, metavar="N")
    cuts.add_argument("--limits", metavar="BYTES,BYTES..", help="the largest size of each part but the last")
    parser.add_argument("--at", choices=["sender", "receiver"], default="sender")
    parser.add_argument("--csv", action="store_true")
    arguments = parser.parse_args()
    if arguments.parts < 1:
        parser.error(f"--parts {arguments.parts}: expected at least 1")
    try:
        limits = sorted(int(limit) for limit in arguments.limits.split(",")) if arguments.limits else []
    except ValueError:
        parser.error(f"--limits {arguments.limits}: expected sizes in bytes")
    columns = {"sender": ("fct_sender_ps", "ideal_fct_sender_ps"), "receiver": ("fct_receiver_ps", "ideal_fct_ps")}
    if not arguments.folder.is_dir():
        parser.error(f"no folder {arguments.folder}")
    series = {}
    for path in sorted(arguments.folder.glob("**/flows.csv")):
        place = path.relative_to(arguments.folder).parts
        names = [name for name in place[:-1] if name != "runs" and not name.startswith("seed-")]
        series.setdefault("/".join(names) or "-", []).extend(
            read(path, arguments.workload, *columns[arguments.at])
        )
    if not any(series.values()):
        print(f"error: no flow that ended below {arguments.folder}", file=sys.stderr)
        return 1
    head = ["series", "up to B", "flows", *SHARES]
    if arguments.csv:
        csv.writer(sys.stdout).writerow(head)
    else:
        print("{:<24}{:>12}{:>9}{:>9}{:>9}{:>9}".format(*head))
    for name, flows in series.items():
        for size, count, *shares in rows(flows, arguments.parts, limits):
            if arguments.csv:
                csv.writer(sys.stdout).writerow([name, size, count, *(f"{each:.4f}" for each in shares)])
            else:
                numbers = "".join(f"{each:>9.2f}" for each in shares)
                print(f"{name:<24}{size:>12}{count:>9}{numbers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
