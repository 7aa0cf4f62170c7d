#!/usr/bin/env python3
"""Counts lines of LLVM code of trimline-sim before optimisation: what the compiler has to work through.

Prints the total, and the lines of functions that are compiled for one kind of port or for one transport. Each is at most
what a further one of its kind would add. Needs nothing but cargo; takes about a minute.

    scripts/llvm_lines.py [--max N] [--max-each N]

Exit status: 0 done, 1 more lines than asked, 2 misuse or a failed build.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "llvm-lines"

# Parts of mangled names (v0: the length of an identifier, then the identifier). A wrapper's name contains its port's name.
WRAPPERS = "7PerPort|11RateLimited"
PORTS = {
    "one queue": "4PortKj1_E",
    "two queues (NDP)": "4PortKj2_E",
    "eight queues": "4PortKj8_E",
    "sojourn times and a rate limit (CoDel, FastLane)": "11RateLimited.*9CodelPort",
    "priority drop (pFabric)": "11RateLimited.*12PriorityDrop",
    "two queues, ports that differ": "7PerPort.*4PortKj2_E",
    "ports that differ, with DRR": "7PerPort.*3Drr",
}
TRANSPORTS = ["cbr", "ndp", "tcp", "dcqcn", "phost", "homa", "pfabric", "nscc", "rccc", "hpcc"]


def compiled():
    """The file with the code: one crate, without debug information."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(TARGET),
        "CARGO_PROFILE_RELEASE_DEBUG": "false",
        "CARGO_PROFILE_RELEASE_LTO": "off",
    }
    command = "cargo rustc -p trimline-sim --lib --release --locked --".split()
    command += "--emit=llvm-ir -Copt-level=0 -Csymbol-mangling-version=v0".split()
    for old in TARGET.glob("release/deps/trimline_sim-*.ll"):
        old.unlink()
    # Cargo compiles nothing that is up to date, and then writes no code.
    (ROOT / "crates/sim/src/lib.rs").touch()
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
        sys.exit(2)
    return next(TARGET.glob("release/deps/trimline_sim-*.ll"))


def functions(file):
    """By mangled name: lines."""
    lines = collections.Counter()
    name = None
    with file.open(errors="replace") as text:
        for line in text:
            if line.startswith("define "):
                name = re.search(r'@"?([^"(]+)', line).group(1)
            if name is not None:
                lines[name] += 1
                if line.startswith("}"):
                    name = None
    return lines


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--max", type=int, metavar="N", help="lines in all")
    arguments.add_argument("--max-each", type=int, metavar="N", help="lines for one port or transport")
    arguments = arguments.parse_args()
    file = compiled()
    total = sum(1 for _ in file.open(errors="replace"))
    lines = functions(file)
    print(f"{total:>9,} lines of trimline-sim, {len(lines):,} functions")
    each = {}
    for name, part in PORTS.items():
        is_wrapper = re.match(WRAPPERS, part) is not None
        each[f"port: {name}"] = sum(
            count
            for mangled, count in lines.items()
            if re.search(part, mangled) and bool(re.search(WRAPPERS, mangled)) == is_wrapper
        )
    for name in TRANSPORTS:
        part = f"{len(name)}{name}"
        each[f"transport: {name}"] = sum(
            count for mangled, count in lines.items() if part in mangled
        )
    for name, count in each.items():
        print(f"{count:>9,} {name}")
    too_many = arguments.max is not None and total > arguments.max
    each_limit = arguments.max_each
    too_many |= each_limit is not None and max(each.values()) > each_limit
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
