#!/usr/bin/env python3
"""The 32 rows of Tables 2 to 9 of TR-933, computed from the runs alone, beside the rows of the report.

Reads OUT/ndp-evaluation/tables2-9/runs/**/flows.csv and the report's rows in experiments/reference. Every number of a run is compared
with what `trimline reproduce` found in it (measures.json), to the last digit of a double; the numbers of all seeds of a series with its
findings (findings.json there, or its --json output).
With --stalls, for each run of ndp-evaluation/seeds50: the share of its time that the ideal times of its completed transfers and the gaps
between them take, over the share of the median run of its series; and the number of these transfers, and their payload. With --cached also of the runs in a file of scripts/cached_runs.py, which has the
numbers that this program computed from their flows.csv. Shares no code with the simulator: Python standard library only.

    scripts/fct_tables.py OUT [--json FILE] [--experiments DIR] [--cached FILE] [--stalls]

Exit status: 0 the same numbers (and no run below 95 %), 1 a difference, 2 misuse.
"""

import argparse
import csv
import json
import math
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

TABLES = "ndp-evaluation/tables2-9"
SEEDS = "ndp-evaluation/seeds50"
#: As the report names its distributions: in names of series, and of findings.
SIZES = {
    "web_ndp_paper": ("webndp", "Web of NDP's paper"),
    "web": ("web", "Web"),
    "cache": ("cache", "Cache"),
    "hadoop": ("hadoop", "Hadoop"),
}
QUANTILES = {"median": Fraction(1, 2), "95th percentile": Fraction(95, 100), "99th percentile": Fraction(99, 100)}
EARLY_PS = 1_900_000_000_000
#: What the program calls the numbers of a row.
FCT = {"quantity": "fct", "at": "sender", "workload": "transfer"}
ASKED = {
    "completed": FCT | {"reduce": "count"},
    "min": FCT | {"started_before_us": EARLY_PS // 1_000_000, "reduce": "min", "unit": "us"},
    "median": FCT | {"reduce": "p50", "unit": "us"},
    "95th percentile": FCT | {"reduce": "p95", "unit": "us"},
    "99th percentile": FCT | {"reduce": "p99", "unit": "us"},
}
GAP_PS = 1_000_000_000
MIN_SHARE = Fraction(95, 100)
#: The ideal time of a transfer of one packet, what each further packet adds, and the payload of a packet. All sizes are whole packets.
FIRST_PS = 55_814_400
NEXT_PS = 7_251_200
PACKET_BYTES = 9000


def transfers(directory):
    """(FCT at the sender or None, its ideal, when it began) of each transfer that began, in ps."""
    with open(directory / "flows.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "transfer" and row["start_ps"]]
    number = lambda text: int(text) if text else None  # noqa: E731
    return [(number(row["fct_sender_ps"]), number(row["ideal_fct_sender_ps"]), int(row["start_ps"])) for row in rows]


def quantile(times, share):
    """By nearest rank; what has not ended is slower than all that has."""
    ended = sorted(time for time in times if time is not None)
    rank = max(1, math.ceil(share * len(times)))
    return ended[rank - 1] if rank <= len(ended) else None


def row_of(directory):
    """The numbers of a run: transfers that completed, and times in ps."""
    began = transfers(directory)
    times = [fct for fct, _, _ in began]
    # The last ones may be under way.
    early = [fct for fct, _, start in began if start < EARLY_PS]
    smallest = None if None in early else min(early, default=None)
    values = {name: quantile(times, share) for name, share in QUANTILES.items()}
    return {"completed": sum(time is not None for time in times), "min": smallest, **values}


def in_us(row):
    """A row with its times in us."""
    us = lambda name, value: value if name == "completed" or value is None else Fraction(value, 1_000_000)  # noqa: E731
    return {name: us(name, value) for name, value in row.items()}


def rows_of(out, cached):
    """By series and seed: the numbers of each run (None of one that is kept without them), and what the program found in it."""
    found = defaultdict(dict)
    for line, series, seed in cached_lines(cached, TABLES):
        found[series][seed] = (in_us(line["row"]), line["measures"]) if "row" in line else None
    for series, seeds in runs_of(out / TABLES).items():
        for seed, directory in seeds.items():
            answers = json.loads((directory / "measures.json").read_text())
            found[series][seed] = in_us(row_of(directory)), answers["measures"]
    return found


def cached_lines(cached, identifier):
    """The lines of a file about an experiment, each with series and seed."""
    for line in map(json.loads, cached.read_text().splitlines()) if cached else ():
        if line["experiment"] == identifier:
            series, seed = line["run"].rsplit("/seed-", 1)
            yield line, series, int(seed)


def runs_of(folder):
    """Directories of runs, by series and seed. One that was stopped ended fewer transfers than it would have: it is named and left out."""
    found = defaultdict(dict)
    for flows in sorted((folder / "runs").rglob("flows.csv")):
        if json.loads((flows.parent / "manifest.json").read_text())["interrupted"]:
            print(f"{flows.parent}: was stopped, left out")
            continue
        summary = json.loads((flows.parent / "summary.json").read_text())
        found[summary["series"]][summary["seed"]] = flows.parent
    return found


def text_of(value):
    return "-" if value is None else f"{float(value):.4g}"


def seeds_in_one(values, over, lo, hi):
    """The value of a finding from the numbers of several seeds."""
    if None in values or not values:
        return None
    values = [Fraction(value) for value in values]
    if over in ("min", "max"):
        return min(values) if over == "min" else max(values)
    if over == "mean" or (lo is None and hi is None):
        return sum(values) / len(values)
    room = lambda v: min(math.inf if lo is None else v - lo, math.inf if hi is None else hi - v)  # noqa: E731
    return min(values, key=room)


def same(one, other):
    if one is None or other is None:
        return one is None and other is None
    return abs(float(one) - other) <= 1e-12 * max(1.0, abs(float(one)))


def compare_run(name, row, measures):
    """Compares the numbers of a run that the program has too; returns how many there are, and how many differ."""
    answers = [(column, each["value"]) for each in measures for column, asked in ASKED.items() if each["measure"] == asked]
    wrong = [(column, value) for column, value in answers if not same(row[column], value)]
    for column, value in wrong:
        print(f"{name}, {column}: {text_of(row[column])} here, {value} there")
    return len(answers), len(wrong)


def compare(name, rows, findings):
    """Numbers compared, and differences between the rows of a series' seeds and the findings whose names begin with `name`."""
    differences = compared = 0
    for finding in findings:
        if not finding["name"].startswith(f"{name}: ") or finding.get("not_judged"):
            continue
        words = finding["name"][len(name) + 2 :].split(", ")
        if words[0] not in rows[0] or "by the size it belongs to" in words:
            continue
        over = finding["over_seeds"]
        bounds = [None if finding.get(key) is None else Fraction(str(finding[key])) for key in ("lo", "hi")]
        ours = seeds_in_one([row[words[0]] for row in rows], over, *bounds)
        compared += 1
        if not same(ours, finding["ours"]):
            print(f"{finding['name']}: {text_of(ours)} here, {finding['ours']} there")
            differences += 1
    return compared, differences


def tables(out, experiments, report, cached):
    """The rows beside the report's. Gives the differences from the program's findings."""
    import tomllib

    expected = tomllib.loads((experiments / TABLES / "expected.toml").read_text())["finding"]
    over = {finding["name"]: finding.get("over_seeds", "each") for finding in expected}
    findings = [{**finding, "over_seeds": over.get(finding["name"], "each")} for finding in report]
    runs = rows_of(out, cached)
    columns = ("completed", "min", *QUANTILES)
    print("workload  load  protocol  seeds  " + "  ".join(f"{column}: ours (report)" for column in columns))
    with open(experiments / "reference" / "ndp-evaluation-fct-tables.csv", newline="") as file:
        published = list(csv.DictReader(file))
    whole = missing = 0
    # By series and by run: numbers compared, and how many differ.
    of_series, of_runs = [(0, 0)], []
    # MPTCP of the authors' program beside MPTCP: the same row of the report.
    uncoupled = [{**baseline, "variant": "uncoupled"} for baseline in published if baseline["protocol"] == "mptcp"]
    for baseline in published + uncoupled:
        short, long = SIZES[baseline["workload"]]
        protocol, variant = baseline["protocol"], baseline.get("variant")
        series = f"{short}-{baseline['load'].replace(':', 'to')}-{protocol}{f'-{variant}' if variant else ''}"
        if series not in runs:
            missing += variant is None
            continue
        with_row = {seed: run for seed, run in sorted(runs[series].items()) if run is not None}
        rows = [row for row, _ in with_row.values()]
        if not rows:
            missing += variant is None
            print(f"{series}: {len(runs[series])} runs are kept without their row, not compared")
            continue
        keys = ("completed_flows", "min_ms", "median_ms", "p95_ms", "p99_ms")
        cells = []
        for column, key in zip(columns, keys, strict=True):
            scale = 1 if column == "completed" else 1000
            said = float(baseline[key]) * scale if baseline[key] else None
            ours = [row[column] for row in rows if row[column] is not None]
            span = "-" if not ours else "..".join(text_of(v) for v in sorted({min(ours), max(ours)}))
            cells.append(f"{span} ({text_of(said)})")
        words = f"{protocol.upper()} {variant}" if variant else protocol.upper()
        # Of some of the seeds the findings, which are of all, cannot be computed.
        is_whole = len(rows) == len(runs[series])
        seeds = len(rows) if is_whole else f"{len(rows)} of {len(runs[series])}"
        print(f"{short}  {baseline['load']}  {words}  {seeds}  " + "  ".join(cells))
        for seed, run in with_row.items():
            of_runs.append(compare_run(f"{series}, seed {seed}", *run))
        if is_whole:
            whole += variant is None
            of_series.append(compare(f"{long} {baseline['load']}, {words}", rows, findings))
    for protocol in ("ndp", "dctcp", "dcqcn", "mptcp"):
        rows = [run[0] for run in runs[f"small-{protocol}"].values() if run is not None]
        if rows:
            of_series.append(compare(f"16 hosts, {protocol.upper()}", rows, findings))
    compared, differences = (sum(numbers) for numbers in zip(*of_series, *of_runs, strict=True))
    print(f"{len(published) - missing} of {len(published)} rows, {whole} of all their seeds; {len(of_runs)} runs")
    print(f"{compared} numbers compared, {differences} differ")
    return differences + (compared == 0)


def completed_by_runs(out, cached):
    """The number of completed transfers, and the sum of their ideal times, by series and seed."""
    found = defaultdict(dict)
    for line, series, seed in cached_lines(cached, SEEDS):
        transfer = line["workloads"]["transfer"]
        found[series][seed] = (transfer["ended"], transfer["ideal_sender_ps"])
    for series, seeds in runs_of(out / SEEDS).items():
        for seed, directory in seeds.items():
            ideals = [ideal for fct, ideal, _ in transfers(directory) if fct is not None]
            found[series][seed] = (len(ideals), sum(ideals))
    return found


def payload_of(ended, ideal_ps):
    """The bytes of `ended` transfers with this sum of ideal times; None if no whole packets have that sum."""
    more, rest = divmod(ideal_ps - ended * FIRST_PS, NEXT_PS)
    return None if rest else (ended + more) * PACKET_BYTES


def stalls(out, cached):
    """Runs whose completed transfers and gaps are less than 95 % of the median run's."""
    stalled = 0
    for series, completed in completed_by_runs(out, cached).items():
        used = {seed: ideal + ended * GAP_PS for seed, (ended, ideal) in completed.items()}
        ordered = sorted(used.values())
        median = ordered[len(ordered) // 2]
        low = {seed: time for seed, time in used.items() if time < MIN_SHARE * median}
        smallest = Fraction(ordered[0], max(median, 1))
        print(f"{series}: {len(used)} runs, the least {float(smallest) * 100:.1f} % of the median")
        print_completed("", completed)
        if low:
            print(f"  below 95 %: seeds {', '.join(map(str, sorted(low)))}")
            print_completed("all others: ", {seed: completed[seed] for seed in completed if seed not in low})
        # Without a bank some are expected.
        stalled += len(low) if series.endswith("-bank") and not series.endswith("-no-bank") else 0
    return stalled


def print_completed(words, completed):
    """Prints how many transfers these runs completed, and their payload: mean and minimum."""
    counts = [ended for ended, _ in completed.values()]
    payloads = [payload_of(*each) for each in completed.values()]
    if None in payloads:
        payload = "of sizes that are no whole packets"
    else:
        payload = f"{sum(payloads) / len(payloads) / 1e6:.1f} MB in the mean, {min(payloads) / 1e6:.1f} MB at least"
    print(f"  {words}{min(counts)} to {max(counts)} transfers, {payload}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--json", type=Path, help="the output of reproduce --json")
    parser.add_argument("--experiments", type=Path, default=Path(__file__).parent.parent / "experiments")
    parser.add_argument("--stalls", action="store_true", help="ndp-evaluation/seeds50 instead")
    parser.add_argument("--cached", type=Path, help="runs that were made elsewhere, as scripts/cached_runs.py writes them")
    arguments = parser.parse_args()
    if arguments.stalls:
        return 1 if stalls(arguments.out, arguments.cached) else 0
    path = arguments.json or arguments.out / TABLES / "findings.json"
    try:
        report = json.loads(path.read_text())
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    reports = report if isinstance(report, list) else report.get("experiments", [report])
    own = [each for each in reports if each["id"] == TABLES]
    if not own:
        print(f"{path}: nothing of {TABLES}", file=sys.stderr)
        return 2
    return 1 if tables(arguments.out, arguments.experiments, own[0]["findings"], arguments.cached) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, KeyError, ValueError) as error:
        # A file that is not there, or is none of these.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
