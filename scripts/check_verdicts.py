#!/usr/bin/env python3
"""Judges experiments a second time, from flows.csv, with arithmetic of its own.

Reads the directory that `trimline reproduce` wrote (OUT/PAPER/FIGURE/runs/**/flows.csv), the bounds of
expected.toml and the reference files; recomputes every finding in exact fractions and compares value and
verdict with findings.json, or with the output of `trimline reproduce --json`. Shares no code with the
program: Python standard library only.

    scripts/check_verdicts.py OUT [--json FILE] [--experiments DIR]

Exit status: 0 the same verdicts, 1 a difference, 2 misuse.
"""

import argparse
import csv
import json
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

PACKET_BYTES = 9000
PACKET_US = Fraction("7.2512")
WAY_US = 5 * PACKET_US + 6


class Run:
    """One run: rows of flows.csv, and the few numbers that only summary.json has."""

    def __init__(self, directory):
        self.name = str(directory)
        with open(directory / "flows.csv", newline="") as file:
            self.flows = list(csv.DictReader(file))
        summary = json.loads((directory / "summary.json").read_text())
        self.series = summary["series"]
        self.seed = summary["seed"]
        self.measured_ps = summary["measured_ps"]
        self.packet_hops = summary["packet_hops"]
        self.interrupted = summary["interrupted"]
        order = [
            (int(f["start_ps"]), int(f["source"]), f["workload"], int(f["index"])) for f in self.flows
        ]
        if order != sorted(order) or len(set(order)) != len(order):
            sys.exit(f"{self.name}: flows.csv is not sorted by start, source, workload, index")


def goodput_gbps(flow, run):
    """Payload bits over time: of the measured interval, or of the whole sized flow."""
    if flow["size_bytes"] == "":
        return Fraction(int(flow["measured_bytes"]) * 8000, run.measured_ps)
    if flow["fct_receiver_ps"] == "":
        return None
    return Fraction(int(flow["size_bytes"]) * 8000, int(flow["fct_receiver_ps"]))


def times_us(flows, column):
    if any(flow[column] == "" for flow in flows):
        return None
    return [Fraction(int(flow[column]), 1_000_000) for flow in flows]


def packets(flow, column):
    return -(-int(flow[column]) // PACKET_BYTES)


def measure(name, run, flows):
    """The number of one run, or None."""
    if not flows:
        return None
    if name == "packet_hops_millions":
        return Fraction(run.packet_hops, 1_000_000)
    if name == "hops_per_delivered_packet":
        return Fraction(run.packet_hops, sum(packets(flow, "delivered_bytes") for flow in run.flows))
    if name.endswith(("goodput_gbps", "goodput_percent")):
        goodputs = [goodput_gbps(flow, run) for flow in flows]
        if None in goodputs:
            return None
        if name == "min_goodput_gbps":
            return min(goodputs)
        mean = sum(goodputs) / len(goodputs)
        return {"mean_goodput_gbps": mean, "mean_goodput_percent": mean * 10}[name]
    if name == "last_fct_sender_us":
        times = times_us(flows, "fct_sender_ps")
        return times and max(times)
    times = times_us(flows, "fct_receiver_ps")
    if times is None:
        return None
    if name == "last_fct_receiver_us":
        return max(times)
    if name == "slowest_over_fastest":
        return max(times) / min(times)
    if name == "last_over_ideal_percent":
        ideal = sum(packets(flow, "size_bytes") for flow in flows) * PACKET_US + WAY_US
        return (max(times) / ideal - 1) * 100
    sys.exit(f"no measure {name}")


def judge(finding, runs):
    """(ours, holds) of a finding: every run that it is about, or its mean over the seeds, must lie
    within the bounds."""
    lo = None if finding.get("lo") is None else Fraction(str(finding["lo"]))
    hi = None if finding.get("hi") is None else Fraction(str(finding["hi"]))
    values, seeds = [], {}
    for run in runs:
        if finding.get("series", run.series) != run.series:
            continue
        if len(run.flows) != finding.get("flows", len(run.flows)):
            continue
        if len(run.flows) < finding.get("flows_from", 0):
            continue
        flows = [
            flow
            for flow in run.flows
            if finding.get("workload", flow["workload"]) == flow["workload"]
            and finding.get("pair", [int(flow["source"]), int(flow["destination"])])
            == [int(flow["source"]), int(flow["destination"])]
        ]
        value = None if run.interrupted else measure(finding["measure"], run, flows)
        if value is None:
            return None, False
        values.append(value)
        seeds.setdefault(run.seed, []).append(value)
    if not values:
        return None, False
    holds = all((lo is None or v >= lo) and (hi is None or v <= hi) for v in values)
    if lo is None and hi is None:
        return sum(values) / len(values), True

    def room(v):
        return min(([] if lo is None else [v - lo]) + ([] if hi is None else [hi - v]))

    if finding.get("over_seeds", "each") == "mean":
        mean = sum(min(of_seed, key=room) for of_seed in seeds.values()) / len(seeds)
        return mean, room(mean) >= 0
    return min(values, key=room), holds


def check_references(experiments):
    """The reference values of Figures 14 and 16, from the authors' files."""
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

    def rows(name):
        with open(experiments / "reference" / name, newline="") as file:
            return list(csv.DictReader(file))

    if (experiments / "ndp/fig14").is_dir():
        gbps = [Fraction(row["ndp_gbps"]) for row in rows("ndp-fig14-permutation-432.csv")]
        compare("ndp/fig14", "NDP mean throughput", sum(gbps) / len(gbps) * 10)
        compare("ndp/fig14", "NDP slowest flow", min(gbps))
    if (experiments / "ndp/fig16").is_dir():
        over, ratio = {}, []
        for row in rows("ndp-fig16-incast-450KB-432.csv"):
            senders, last = int(row["senders"]), Fraction(row["fct_max_s"]) * 1_000_000
            over[senders] = (last / (senders * 50 * PACKET_US + WAY_US) - 1) * 100
            ratio.append(Fraction(row["fct_max_s"]) / Fraction(row["fct_min_s"]))
        most = max(value for senders, value in over.items() if senders >= 11)
        compare("ndp/fig16", "NDP last flow over the ideal, 11 senders and more", most)
        compare("ndp/fig16", "NDP last flow over the ideal, 431 senders", over[431])
        compare("ndp/fig16", "NDP slowest over fastest flow", max(ratio))
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
        runs = [Run(directory) for directory in directories]
        reported = {finding["name"]: finding for finding in report["findings"]}
        if set(reported) != {finding["name"] for finding in expected["finding"]}:
            print(f"{name}: findings differ from expected.toml")
            differences += 1
        for finding in expected["finding"]:
            ours, holds = judge(finding, runs)
            theirs = reported.get(finding["name"], {"ours": None, "holds": None})
            same_value = (ours is None) == (theirs["ours"] is None) and (
                ours is None or abs(float(ours) - theirs["ours"]) <= 1e-9 * max(1, abs(float(ours)))
            )
            bounds = all(finding.get(key) == theirs.get(key) for key in ("lo", "hi", "paper", "reference"))
            agrees = same_value and bounds and holds == theirs["holds"]
            differences += not agrees
            value = "-" if ours is None else f"{float(ours):.4f}"
            verdict = "holds" if holds else "does not hold"
            note = "" if agrees else f"   DIFFERS: reported {theirs}"
            print(f"{name}  {finding['name']}: {value} {finding['unit']}, {verdict}{note}")
    print("the same verdicts" if differences == 0 else f"{differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
