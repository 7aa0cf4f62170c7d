#!/usr/bin/env python3
"""Counts the instructions of one packet-hop of the standard workloads under callgrind.

Each workload runs twice, for a shorter and a longer simulated time; the difference in instructions over
the difference in packet-hops leaves out start and set-up. Python standard library and valgrind only.

    scripts/bench_instructions.py [--program target/release/trimline] [--only NAME] [--json] [--max N]

Exit status: 0 done, 1 a workload needs more than --max instructions per hop, 2 misuse.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys

# Simulated times: long enough that the first windows of all hosts are over.
WORKLOADS = {
    "permutation-128": ("1ms", "3ms"),
    "permutation-432": ("0.5ms", "1.5ms"),
    "permutation-1024": ("0.3ms", "0.8ms"),
    "permutation-8192": ("0.1ms", "0.2ms"),
    "incast-431x450KB": ("10ms", "60ms"),
    "tcp-432": ("5ms", "10ms"),
    "dctcp-432": ("5ms", "10ms"),
    "dctcp-shared-432": ("5ms", "10ms"),
    "mptcp-432": ("5ms", "10ms"),
    "phost-432": ("5ms", "10ms"),
    "homa-144": ("0.5ms", "1ms"),
    "ndp-144": ("0.5ms", "1ms"),
    "opf-432": ("0.5ms", "1.5ms"),
    "opf-432-off": ("0.5ms", "1.5ms"),
    "tcp-128": ("1ms", "3ms"),
    "fastlane-128": ("1ms", "3ms"),
    "pfabric-128": ("1ms", "3ms"),
    "dcqcn-432": ("5ms", "10ms"),
    "dcqcn-window-432": ("5ms", "10ms"),
    "nscc-432": ("0.5ms", "1ms"),
    "rccc-432": ("0.5ms", "1ms"),
    "hpcc-432": ("0.5ms", "1ms"),
    "hull-192": ("100ms", "300ms"),
    "scale-16": ("20ms", "60ms"),
}


def count(program, workload, duration):
    """Instructions, and the measurement that the program printed."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        program,
        "bench",
        "--once",
        workload,
        "--duration",
        duration,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        sys.exit(f"error: {' '.join(command)}\n{done.stderr}")
    return int(collected.group(1)), json.loads(done.stdout)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", default="target/release/trimline")
    arguments.add_argument("--only", choices=WORKLOADS, metavar="NAME")
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--max", type=float, metavar="N", help="instructions per hop")
    arguments = arguments.parse_args()
    if shutil.which("valgrind") is None:
        print("error: no valgrind; on Debian: apt-get install valgrind", file=sys.stderr)
        return 2
    if shutil.which(arguments.program) is None:
        print(f"error: no {arguments.program}; cargo build --release", file=sys.stderr)
        return 2
    lines = []
    for workload, (short, long) in WORKLOADS.items():
        if arguments.only not in (None, workload):
            continue
        fewer, first = count(arguments.program, workload, short)
        more, second = count(arguments.program, workload, long)
        hops = second["hops"] - first["hops"]
        if hops <= 0:
            print(f"error: {workload}: no hops between {short} and {long}", file=sys.stderr)
            return 2
        # Times under callgrind say nothing.
        lines.append(
            {
                "workload": workload,
                "hosts": second["hosts"],
                "threads": second["threads"],
                "hops": hops,
                "instructions_per_hop": round((more - fewer) / hops, 1),
            }
        )
        if not arguments.json:
            print(f"{workload:20} {lines[-1]['instructions_per_hop']:8.1f} instructions per hop", flush=True)
    if arguments.json:
        print(json.dumps(lines, indent=2))
    if arguments.max is not None:
        return int(any(line["instructions_per_hop"] > arguments.max for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
