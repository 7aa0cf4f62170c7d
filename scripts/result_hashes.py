#!/usr/bin/env python3
"""One hash for each series of each experiment: of the flows.csv of all its runs.

A change that must move no result is shown by two equal lists. A series that is new has a line of its own.

    scripts/result_hashes.py DIR [--renamed OLD=NEW] [--without COLUMN] [--check FILE]

DIR holds the results of `trimline reproduce`: out, or out/quick. --renamed hashes an older result as if a column had
its new name, --without as if a column were not there. --check compares with an earlier list and says which lines differ.

Exit status: 0 done, 1 a series differs from the list or is missing, 2 misuse.
"""

import argparse
import hashlib
import sys
from pathlib import Path


def runs_of(folder):
    """(experiment, series, run) -> path of flows.csv. A run without series belongs to the series `-`."""
    found = {}
    experiments = [path.parent for path in sorted(folder.glob("*/*/findings.json"))]
    for path in (path for place in experiments for path in sorted(place.glob("**/flows.csv"))):
        parts = [part for part in path.relative_to(folder).parts if part != "runs"]
        run = parts[2:-1]
        series = run[0] if run and not run[0].startswith("seed-") and "=" not in run[0] else "-"
        found["/".join(parts[:2]), series, "/".join(run)] = path
    return found


def content(path, renamed, without):
    """The bytes of a table, its columns under their new names."""
    header, _, rows = path.read_bytes().partition(b"\n")
    columns = [renamed.get(column, column) for column in header.decode().split(",")]
    missing = [column for column in without if column not in columns]
    if missing:
        sys.exit(f"error: {path} has no column {', '.join(missing)}")
    if not without:
        return ",".join(columns).encode() + b"\n" + rows
    # No field of flows.csv is quoted: names of workloads have no commas.
    kept = [place for place, column in enumerate(columns) if column not in without]
    lines = [",".join(columns).encode(), *rows.split(b"\n")[:-1]]
    fields = (line.split(b",") for line in lines)
    return b"".join(b",".join(row[place] for place in kept) + b"\n" for row in fields)


def hashes(folder, renamed, without=()):
    """(experiment, series) -> (runs, hash)."""
    groups = {}
    for (experiment, series, run), path in runs_of(folder).items():
        count, digest = groups.setdefault((experiment, series), ([0], hashlib.sha256()))
        count[0] += 1
        digest.update(run.encode() + b"\0" + hashlib.sha256(content(path, renamed, without)).digest())
    return {key: (count[0], digest.hexdigest()[:32]) for key, (count, digest) in groups.items()}


def read(path):
    """The lines of an earlier list."""
    rows = (line.split() for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {(experiment, series): (int(runs), digest) for experiment, series, runs, digest in rows}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    arguments.add_argument("--without", action="append", default=[], metavar="COLUMN")
    arguments.add_argument("--check", type=Path, metavar="FILE")
    arguments = arguments.parse_args()
    if not arguments.folder.is_dir():
        print(f"error: no folder {arguments.folder}", file=sys.stderr)
        return 2
    for pair in arguments.renamed:
        if "=" not in pair:
            print(f"error: --renamed {pair}: expected OLD=NEW", file=sys.stderr)
            return 2
    renamed = dict(pair.split("=", 1) for pair in arguments.renamed)
    found = hashes(arguments.folder, renamed, arguments.without)
    if not found:
        print(f"error: no flows.csv in {arguments.folder}", file=sys.stderr)
        return 2
    if arguments.check is None:
        for (experiment, series), (runs, digest) in sorted(found.items()):
            print(f"{experiment:16} {series:24} {runs:4} {digest}")
        return 0
    try:
        wanted = read(arguments.check)
    except (OSError, ValueError) as error:
        print(f"error: {arguments.check}: {error}; expected lines of experiment, series, runs, hash", file=sys.stderr)
        return 2
    wrong = [key for key, line in sorted(wanted.items()) if found.get(key) != line]
    for key in wrong:
        print(f"{' '.join(key)}: {wanted[key]} in {arguments.check}, now {found.get(key, 'missing')}")
    for key in sorted(set(found) - set(wanted)):
        print(f"{' '.join(key)}: new")
    print(f"{len(wanted) - len(wrong)} of {len(wanted)} series as in {arguments.check}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
