#!/usr/bin/env python3
"""Times two programs on the same workloads, one after the other, and prints the median of the ratios of the pairs.

usage: bench_pairs.py OLD NEW [--only NAMES] [--pairs N] [--threads N]

OLD and NEW are `trimline` programs. A pair is one run of each, in turns OLD first and NEW first, so a machine that
becomes slower favours neither. The ratio is NEW's time per packet-hop over OLD's.
"""

import argparse
import json
import statistics
import subprocess

NAMES = "permutation-432,dctcp-432,permutation-1024,permutation-8192"


def nanoseconds(program, name, threads):
    """Time per packet-hop of one run; with several threads, of the run that has them."""
    command = [program, "bench", "--json", "--repeat", "1", "--only", name, "--threads", str(threads)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found[0]["ns_per_hop"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default=NAMES, help="workloads, with commas between; default: %(default)s")
    parser.add_argument("--pairs", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="threads of a run; default: %(default)s")
    given = parser.parse_args()
    for name in given.only.split(","):
        pairs = []
        for place in range(given.pairs):
            order = [given.old, given.new]
            got = {program: nanoseconds(program, name, given.threads) for program in order[:: 1 if place % 2 == 0 else -1]}
            pairs.append([got[program] for program in order])
        old, new = (statistics.median(times) for times in zip(*pairs))
        ratios = sorted(new / old for old, new in pairs)
        middle = statistics.median(ratios)
        print(f"{name}: {old:.1f} -> {new:.1f} ns a hop, {middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)


if __name__ == "__main__":
    main()
