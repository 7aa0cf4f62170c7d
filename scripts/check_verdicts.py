#!/usr/bin/env python3
"""Judges experiments a second time, from the tables of their runs, with arithmetic of its own.

Reads the directory that `trimline reproduce` wrote (OUT/PAPER/FIGURE/runs/**: flows.csv, and ports.csv,
latencies.csv, timeline.csv and series.csv where a measure asks for them), the bounds of expected.toml and the
reference files; recomputes every finding in exact fractions and compares value, verdict and interval over seeds with
findings.json, or with the output of `trimline reproduce --json`. Shares no code with the program: Python
standard library only.

    scripts/check_verdicts.py OUT [--json FILE] [--experiments DIR]

Exit status: 0 the same verdicts, 1 a difference, 2 misuse.
"""

import argparse
import csv
import json
import math
import re
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

from verdict_measures import Refused, exact, mean, number_of

# The model of the authors' files: 9000 B in 9064 B at 10 Gb/s, five switches, six links of 1 us.
PACKET_US = Fraction("7.2512")
WAY_US = 5 * PACKET_US + 6


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Run:
    """One run: rows of its tables, the few numbers that only summary.json has, and what findings ask of it."""

    def __init__(self, directory, findings=()):
        self.name = str(directory)
        self.directory = directory
        self.flows = rows(directory / "flows.csv")
        summary = json.loads((directory / "summary.json").read_text())
        link = json.loads((directory / "manifest.json").read_text())["host_link"]
        self.link_bps = link["rate_bps"]
        self.payload_bytes = link["payload_bytes"]
        self.header_bytes = link["header_bytes"]
        self.series = summary["series"]
        self.seed = summary["seed"]
        self.simulated_ps = summary["simulated_ps"]
        self.measured_ps = summary["measured_ps"]
        self.packet_hops = summary["packet_hops"]
        self.packets_delivered = summary["packets_delivered"]
        self.of_all_flows = {key: summary[key] for key in ("path_removals", "path_restorations")}
        self.interrupted = summary["interrupted"]
        # The place in the sweep is a folder: key=value,key=value.
        points = [part for part in directory.parts[-3:-1] if "=" in part]
        self.point = dict(each.split("=", 1) for part in points for each in part.split(","))
        order = [
            (int(f["start_ps"]), int(f["source"]), f["workload"], int(f["index"])) for f in self.flows
        ]
        if order != sorted(order) or len(set(order)) != len(order):
            sys.exit(f"{self.name}: flows.csv is not sorted by start, source, workload, index")
        self.count = len(self.flows)
        self.values = {
            finding["name"]: value_of(finding, self)
            for finding in findings
            if self.series in (finding.get("series", self.series), finding.get("against"))
        }
        # Hundreds of runs with thousands of flows each would fill the memory.
        self.flows = None

    def table(self, name):
        """The rows of ports.csv, hosts.csv, latencies.csv, timeline.csv or series.csv, which the scenario must ask for."""
        path = self.directory / f"{name}.csv"
        if not path.is_file():
            sys.exit(f"{self.name}: no {name}.csv; the scenario must ask for it (output.{name})")
        return rows(path)


def takes(place, label):
    """True if a place of a sweep (a value, a range with both ends or a list of places) has this label."""
    if isinstance(place, list):
        return any(takes(each, label) for each in place)
    if isinstance(place, str):
        return place == label
    try:
        number = int(label)
    except ValueError:
        return False
    if isinstance(place, dict):
        return place.get("from", number) <= number <= place.get("to", number)
    return place == number


def is_about(finding, run):
    return (
        finding.get("series", run.series) == run.series
        and finding.get("flows", run.count) == run.count
        and finding.get("flows_from", 0) <= run.count
        and all(
            key in run.point and takes(place, run.point[key])
            for key, place in finding.get("at", {}).items()
        )
    )


def is_selected(flow, measure):
    """True if a measure includes this flow."""
    pair = [int(flow["source"]), int(flow["destination"])]
    sizes = measure.get("size_bytes")
    if sizes is not None and not set(sizes) <= {"from", "below"}:
        raise Refused(f"sizes by {sorted(sizes)}")
    return (
        measure.get("workload", flow["workload"]) == flow["workload"]
        and measure.get("pair", pair) == pair
        and int(flow["start_ps"]) < 10**6 * measure.get("started_before_us", math.inf)
        and (
            sizes is None
            or flow["size_bytes"] != ""
            and sizes.get("from", 0) <= int(flow["size_bytes"]) < sizes.get("below", math.inf)
        )
    )


def value_of(finding, run):
    """The finding's measure of one run, over the flows that it is about."""
    measure = finding["measure"]
    try:
        flows = [flow for flow in run.flows if is_selected(flow, measure)]
        value = number_of(measure, run, flows)
    except Refused as refused:
        sys.exit(f"{run.name}: finding {finding['name']!r}: measure not known: {refused}")
    return None if run.interrupted else value


def beside(run, key, values):
    """(place, value) of the runs that differ from this one in one key of the sweep alone."""
    rest = {name: label for name, label in run.point.items() if name != key}
    return [
        (other.point.get(key, ""), value)
        for other, value in values
        if (other.series, other.seed) == (run.series, run.seed)
        and {name: label for name, label in other.point.items() if name != key} == rest
    ]


def spread(run, key, values):
    """Largest less smallest among these."""
    group = [value for _, value in beside(run, key, values)]
    return max(group) - min(group) if len(group) > 1 and None not in group else None


def straightness(run, key, values):
    """The share of the variance among such runs that a straight line over the numbers of the key explains."""
    group = beside(run, key, values)
    numbers = [re.match(r"[0-9]+(\.[0-9]+)?", place) for place, _ in group]
    if len(group) < 3 or None in numbers or None in (value for _, value in group):
        return None
    xs, ys = [Fraction(number[0]) for number in numbers], [Fraction(value) for _, value in group]
    xs, ys = [x - mean(xs) for x in xs], [y - mean(ys) for y in ys]
    xx, xy, yy = (sum(a * b for a, b in zip(*pair)) for pair in ((xs, xs), (xs, ys), (ys, ys)))
    return xy * xy / (xx * yy) if xx and yy else None


def excess(finding, run, value, runs):
    """Percent above the same run of another series."""
    for other in runs:
        same = (other.seed, other.point) == (run.seed, run.point)
        if same and other.series == finding["against"]:
            base = other.values[finding["name"]]
            return (value / base - 1) * 100 if base else None
    return None


def values_of(finding, runs):
    """(seed, value) of every run that the finding is about; a value may be missing."""
    values = [(run, run.values[finding["name"]]) for run in runs if is_about(finding, run)]
    if any(value is None for _, value in values):
        return [(run.seed, None) for run, _ in values]
    for kind, of in (("spread_over", spread), ("linear_over", straightness)):
        if kind in finding:
            return [(run.seed, of(run, finding[kind], values)) for run, _ in values]
    if "against" in finding:
        return [(run.seed, excess(finding, run, value, runs)) for run, value in values]
    return [(run.seed, value) for run, value in values]


def judge(finding, runs):
    """(ours, holds, values by seed) of a finding: every run that it is about, or its mean over the seeds,
    must lie within the bounds."""
    lo = None if finding.get("lo") is None else Fraction(str(finding["lo"]))
    hi = None if finding.get("hi") is None else Fraction(str(finding["hi"]))
    pairs = values_of(finding, runs)
    values, seeds = [value for _, value in pairs], {}
    if not values or None in values:
        return None, False, []
    for seed, value in pairs:
        seeds.setdefault(seed, []).append(value)

    def room(v):
        return min(([] if lo is None else [v - lo]) + ([] if hi is None else [hi - v]))

    def worst(numbers):
        return mean(numbers) if lo is None and hi is None else min(numbers, key=room)

    of_seeds = [worst(of_seed) for of_seed in seeds.values()]
    over = {"each": worst, "mean": lambda _: mean(of_seeds), "min": min, "max": max}
    ours = over[finding.get("over_seeds", "each")](values)
    return ours, (lo is None and hi is None) or room(ours) >= 0, of_seeds


def baseline_of(finding):
    """(least, greatest) of what the authors' program gives: measured for the finding, else its reference."""
    baseline = finding.get("baseline")
    if baseline is None:
        smallest = greatest = finding.get("reference")
    else:
        smallest, greatest = (baseline.get("value", baseline.get(key)) for key in ("from", "to"))
    return None if smallest is None else (exact(smallest), exact(greatest))


def missed_by(finding, ours):
    """The kind of a miss: theirs misses the same bound; ours alone does; there is no program; or a cause is known.
    `ours` is None where the runs have no such value."""
    baseline = baseline_of(finding)
    if ours is None or baseline is None:
        if ours is not None and "baseline" in finding:
            return "no-program"
        return "cause-known" if "cause" in finding else None
    lo, hi = finding.get("lo"), finding.get("hi")
    below = lo is not None and ours < exact(lo) and baseline[0] < exact(lo)
    above = hi is not None and ours > exact(hi) and baseline[1] > exact(hi)
    return "as-baseline" if below or above else "both"


def is_sign(finding):
    """True if the only bound of a comparison is 0."""
    bounds = [finding[key] for key in ("lo", "hi") if key in finding]
    return "against" in finding and bounds == [0]


def same_baseline(finding, reported):
    """True if the report has the numbers of the finding, and no others."""
    expected = baseline_of(finding) if "baseline" in finding else None
    if expected is None or reported is None:
        return expected is None and reported is None
    return [exact(reported[key]) for key in ("from", "to")] == list(expected)


def student_t(degrees):
    """The two-sided 95 % quantile of Student's t, by halving on the closed form of its distribution."""

    def within(t):
        angle = math.atan(t / math.sqrt(degrees))
        sine, cosine = math.sin(angle), math.cos(angle)
        if degrees % 2:
            terms, term = 0.0, cosine
            for k in range(1, degrees, 2):
                terms += term
                term *= cosine * cosine * (k + 1) / (k + 2)
            return 2 / math.pi * (angle + sine * terms)
        terms, term = 0.0, 1.0
        for k in range(0, degrees, 2):
            terms += term
            term *= cosine * cosine * (k + 1) / (k + 2)
        return sine * terms

    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 0.95 else (low, middle)
    return low


def same_interval(of_seeds, reported):
    """True if the reported interval over the seeds is the interval of these values; it may be a little wider, as
    tables of Student's t have three decimals and few rows."""
    count = len(of_seeds)
    if count < 2 or reported is None:
        return count < 2 and reported is None
    mean = sum(of_seeds) / count
    variance = sum((value - mean) ** 2 for value in of_seeds) / (count - 1)
    half = student_t(count - 1) * math.sqrt(variance / count)
    largest = half * (1.0005 if count <= 31 else 1.03) + 1e-9
    return (
        reported["count"] == count
        and math.isclose(float(mean), reported["mean"], rel_tol=1e-9, abs_tol=1e-9)
        and half * 0.9995 - 1e-9 <= reported["half_width"] <= largest
    )


def check_references(experiments):
    """The reference values of Figures 14, 16, 20 and 22, from the authors' files."""
    differences = 0

    def compare(experiment, name, value):
        nonlocal differences
        path = experiments / experiment / "expected.toml"
        for finding in tomllib.loads(path.read_text())["finding"]:
            if finding["name"] == name:
                # As many digits as the file states.
                if abs(Fraction(str(finding["reference"])) - value) > abs(value) * Fraction(1, 200):
                    print(f"{experiment}: {name}: reference {finding['reference']}, file {float(value)}")
                    differences += 1
                return
        print(f"{experiment}: no finding {name}")
        differences += 1

    def reference(name):
        return rows(experiments / "reference" / name)

    if (experiments / "ndp/fig14").is_dir():
        gbps = [Fraction(row["ndp_gbps"]) for row in reference("ndp-fig14-permutation-432.csv")]
        compare("ndp/fig14", "NDP mean throughput", sum(gbps) / len(gbps) * 10)
        compare("ndp/fig14", "NDP slowest flow", min(gbps))
    if (experiments / "ndp/fig16").is_dir():
        over, ratio = {}, []
        for row in reference("ndp-fig16-incast-450KB-432.csv"):
            senders, last = int(row["senders"]), Fraction(row["fct_max_s"]) * 1_000_000
            over[senders] = (last / (senders * 50 * PACKET_US + WAY_US) - 1) * 100
            ratio.append(Fraction(row["fct_max_s"]) / Fraction(row["fct_min_s"]))
        largest = max(value for senders, value in over.items() if senders >= 11)
        compare("ndp/fig16", "NDP last flow over the ideal, 11 senders and more", largest)
        compare("ndp/fig16", "NDP last flow over the ideal, 431 senders", over[431])
        compare("ndp/fig16", "NDP slowest over fastest flow", max(ratio))
    if (experiments / "ndp/fig20").is_dir():
        over, resent = {}, {}
        for row in reference("ndp-fig20-incast-scaling-8192.csv"):
            window, senders = int(row["initial_window"]), int(row["senders"])
            last = Fraction(row["fct_max_s"]) * 1_000_000
            over[window, senders] = (last / (senders * 30 * PACKET_US + WAY_US) - 1) * 100
            causes = [Fraction(row["rtx_return_to_sender"]), Fraction(row["rtx_nack"])]
            resent[window, senders] = [cause / (senders * 30) for cause in causes]
        for window in (10, 23):
            for smallest, words in ((9, "8 senders"), (101, "100 senders")):
                largest = max(v for (w, n), v in over.items() if w == window and n >= smallest)
                compare("ndp/fig20", f"last flow over the ideal, window {window}, more than {words}", largest)
        for senders in (100, 1000, 8000):
            name = f"retransmissions, window 23, {senders} senders"
            compare("ndp/fig20", name, sum(resent[23, senders]))
        returned, nacked = resent[23, 1000]
        compare("ndp/fig20", "of them by NACK, window 23, 1000 senders", nacked)
        compare("ndp/fig20", "of them by return, window 23, 1000 senders", returned)
        name = "retransmissions by return, window 23, 8000 senders: more than one for each packet"
        compare("ndp/fig20", name, resent[23, 8000][0])
    if (experiments / "ndp/fig22").is_dir():
        flows = reference("ndp-fig22-failure-128.csv")
        smallest = min(Fraction(row["ndp_penalty_gbps"]) for row in flows)
        compare("ndp/fig22", "slowest flow with path penalty", smallest)
        slow = [3 <= Fraction(row["ndp_no_penalty_gbps"]) <= Fraction("5.5") for row in flows]
        compare("ndp/fig22", "flows of 3 to 5.5 Gb/s without path penalty", Fraction(sum(slow)))
    return differences


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("out", type=Path, help="directory that `trimline reproduce` wrote")
    arguments.add_argument("--json", type=Path, help="output of `trimline reproduce --json`")
    arguments.add_argument("--experiments", type=Path, default=Path("experiments"))
    arguments = arguments.parse_args()
    if arguments.json is not None:
        reports = json.loads(arguments.json.read_text())["experiments"]
    else:
        found = sorted(arguments.out.glob("*/*/findings.json"))
        reports = [json.loads(path.read_text()) for path in found]
    if not reports:
        print(f"error: no findings in {arguments.out}", file=sys.stderr)
        return 2
    differences = check_references(arguments.experiments)
    for report in reports:
        name = report["id"]
        expected = tomllib.loads((arguments.experiments / name / "expected.toml").read_text())
        directories = sorted(path.parent for path in (arguments.out / name / "runs").rglob("flows.csv"))
        runs = [Run(directory, expected["finding"]) for directory in directories]
        if report.get("tier") == "part":
            runs = [run for run in runs if run.series in report["series"]]
        reported = {finding["name"]: finding for finding in report["findings"]}
        if set(reported) != {finding["name"] for finding in expected["finding"]}:
            print(f"{name}: findings differ from expected.toml")
            differences += 1
        for finding in expected["finding"]:
            ours, holds, of_seeds = judge(finding, runs)
            # Only the quick tier and a part may have none of the runs that a finding is about; the quick tier too few for its
            # mean. A part says which series are there whole.
            has_bound = "lo" in finding or "hi" in finding
            is_of_all = finding.get("over_seeds", "each") != "each" and has_bound
            is_there = any(is_about(finding, run) for run in runs)
            not_judged = report.get("tier") == "quick" and (is_of_all or not is_there)
            if report.get("tier") == "part":
                needed = {finding.get("series"), finding.get("against", finding.get("series"))}
                not_judged = not needed <= set(report["series"])
            holds = holds or not_judged
            baseline = reported.get(finding["name"], {"ours": None, "holds": None})
            same_value = (ours is None) == (baseline["ours"] is None) and (
                ours is None or abs(float(ours) - baseline["ours"]) <= 1e-9 * max(1, abs(float(ours)))
            )
            bounds = all(finding.get(key) == baseline.get(key) for key in ("lo", "hi", "paper", "reference"))
            interval = same_interval(of_seeds, baseline.get("seeds"))
            agrees = same_value and bounds and interval and holds == baseline["holds"]
            agrees = agrees and not_judged == baseline.get("not_judged", False)
            missed = None if holds else missed_by(finding, ours)
            agrees = agrees and is_sign(finding) == baseline.get("sign", False)
            agrees = agrees and missed == baseline.get("missed")
            agrees = agrees and same_baseline(finding, baseline.get("baseline"))
            differences += not agrees
            value = "-" if ours is None else f"{float(ours):.4f}"
            verdict = "not judged" if not_judged else "holds" if holds else "does not hold"
            verdict += f" ({missed})" if missed else ""
            note = "" if agrees else f"   DIFFERS: reported {baseline}"
            print(f"{name}  {finding['name']}: {value} {baseline.get('unit', '')}, {verdict}{note}")
    print("the same verdicts" if differences == 0 else f"{differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        # A folder or a file that is not there.
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
