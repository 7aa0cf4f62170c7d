#!/usr/bin/env python3
"""Keeps what findings asked of runs, a line of JSON each, so that runs of several machines or evenings are judged as one.

    scripts/cached_runs.py OUT ID FILE

Adds the finished runs of experiment ID in the folder OUT to FILE (which it makes) and sorts them. `trimline reproduce ID --cached FILE`
judges them. A line also has commit and wall time of the program, the SHA-256 of flows.csv, and of each workload how many flows ended
and the sum of their ideal times; a run of ndp-evaluation/tables2-9 also the row that scripts/fct_tables.py computes of it. A run that
is in FILE already is compared: the same bytes of flows.csv and the same answers are expected of every program. Runs of a scenario
that names files are refused. Python standard library only.

Exit status: 0 added, 1 a run that differs from its line in FILE, 2 misuse.
"""

import csv
import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

from fct_tables import TABLES, row_of


class Refused(Exception):
    """A run that cannot be cached, with the reason."""


def series_hash(text, series):
    """SHA-256 of what a scenario says of one series, as JSON with sorted keys: as the program takes it.

    Refuses scenarios that name files: what was in them is not known here.
    """
    table = tomllib.loads(text)
    if names_file(table):
        raise Refused("the scenario names files, and what was in them is not known; expected one without `file`")
    before = has_schemes(table)
    keep(table, "series", lambda name: name == series or (before and series.startswith(f"{name}-")))
    for key in SCHEMES:
        keep(table, key, lambda name: name == series or series.endswith(f"-{name}"))
    canonical = json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


# The keys of schemes: tables with a name, and names.
SCHEMES = ("scheme", "schemes")


def has_schemes(table):
    """True if a scenario, or one of its series, has schemes: a run's series is SERIES-SCHEME then."""
    return any(key in each for each in (table, *table.get("series", ())) for key in SCHEMES)


def keep(table, key, is_cached):
    """Removes entries of a list, names or tables with a name, that cannot have made the series; in doubt an entry stays."""
    if key in table:
        names = ((one.get("name") if isinstance(one, dict) else one, one) for one in table[key])
        table[key] = [one for name, one in names if name is not None and is_cached(name)]


def names_file(value):
    """True if a value names a file somewhere, also in a sweep."""
    if isinstance(value, dict):
        return any(key.split(".")[-1] == "file" or names_file(each) for key, each in value.items())
    return isinstance(value, list) and any(map(names_file, value))


def workloads(text):
    """By workload: the flows that ended at the sender, and the sum of their ideal times there."""
    found = {}
    for row in csv.DictReader(text.splitlines()):
        of_it = found.setdefault(row["workload"], {"ended": 0, "ideal_sender_ps": 0})
        if row["fct_sender_ps"] and row["ideal_fct_sender_ps"]:
            of_it["ended"] += 1
            of_it["ideal_sender_ps"] += int(row["ideal_fct_sender_ps"])
    return found


def line_of(identifier, directory):
    """The line of one run; None for a run that was stopped."""
    manifest = json.loads((directory / "manifest.json").read_text())
    if manifest["interrupted"]:
        return None
    if manifest["settings"]:
        raise Refused(f"{directory}: its settings ({', '.join(manifest['settings'])}) are not the experiment's")
    answers = json.loads((directory / "measures.json").read_text())
    flows = (directory / "flows.csv").read_text()
    series = json.loads((directory / "summary.json").read_text())["series"]
    try:
        series_sha256 = series_hash((directory / "scenario.toml").read_text(), series)
    except Refused as error:
        raise Refused(f"{directory}: {error}") from error
    line = {
        "experiment": identifier,
        "run": manifest["run"],
        "series_sha256": series_sha256,
        "flows_sha256": hashlib.sha256(flows.encode()).hexdigest(),
        "commit": manifest["commit"],
        "packet_hops": manifest["packet_hops"],
        "wall_seconds": round(manifest["wall_seconds"], 1),
        "workloads": workloads(flows),
        **answers,
    }
    return line | {"row": row_of(directory)} if identifier == TABLES else line


def known(file):
    """The lines of a file, by experiment and run."""
    lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {(line["experiment"], line["run"]): line for line in lines}


def differs(one, other):
    """The keys in which two lines of one run must agree, and do not."""
    keys = ["flows_sha256", "packet_hops", "workloads", "flows", "measures"]
    # Older lines have no row, nor do lines of other experiments.
    if "row" in one and "row" in other:
        keys.append("row")
    return [key for key in keys if one[key] != other[key]]


def natural(key):
    """A key under which seed 10 comes after seed 9."""
    return [int(part) if part.isdecimal() else part for text in key for part in re.split(r"(\d+)", text)]


def add(out, identifier, file):
    """Adds the runs of an experiment to a file. Gives (how many are new, those that differ)."""
    cached, new, wrong = known(file), 0, []
    for manifest in sorted((out / identifier / "runs").rglob("manifest.json")):
        line = line_of(identifier, manifest.parent)
        if line is None:
            continue
        before = cached.get((identifier, line["run"]))
        # Another scenario of the same name, or other questions: the new run stands for it.
        is_same = before is not None and before["series_sha256"] == line["series_sha256"]
        if is_same and (unequal := differs(before, line)):
            wrong.append(f"{line['run']}: {', '.join(unequal)} (commits {before['commit']}, {line['commit']})")
            continue
        if is_same:
            # With what an older line lacks.
            cached[identifier, line["run"]] = line | before
        else:
            cached[identifier, line["run"]] = line
            new += 1
    ordered = [cached[key] for key in sorted(cached, key=natural)]
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in ordered)
    file.write_text(text)
    return new, wrong


def main(arguments):
    if len(arguments) != 3:
        print("usage: cached_runs.py OUT ID FILE", file=sys.stderr)
        return 2
    out, identifier, file = Path(arguments[0]), arguments[1], Path(arguments[2])
    if not (out / identifier / "runs").is_dir():
        print(f"{out / identifier}: no runs", file=sys.stderr)
        return 2
    try:
        new, wrong = add(out, identifier, file)
    except (OSError, KeyError, TypeError, ValueError, Refused) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for words in wrong:
        print(f"differs from its line: {words}")
    print(f"{new} runs added to {file}, {len(known(file))} in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
