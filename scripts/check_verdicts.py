#!/usr/bin/env python3
"""Judges experiments a second time, from the tables of their runs, with arithmetic of its own.

Reads the directory that `trimline reproduce` wrote (OUT/PAPER/FIGURE/runs/**: flows.csv, and ports.csv,
latencies.csv and timeline.csv where a measure asks for them), the bounds of expected.toml and the reference
files; recomputes every finding in exact fractions and compares value, verdict and interval over seeds with
findings.json, or with the output of `trimline reproduce --json`. Shares no code with the program: Python
standard library only.

    scripts/check_verdicts.py OUT [--json FILE] [--experiments DIR]

Exit status: 0 the same verdicts, 1 a difference, 2 misuse.
"""

import argparse
import csv
import json
import math
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

PACKET_BYTES = 9000
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
        self.series = summary["series"]
        self.seed = summary["seed"]
        self.simulated_ps = summary["simulated_ps"]
        self.measured_ps = summary["measured_ps"]
        self.packet_hops = summary["packet_hops"]
        self.path_removals = summary["path_removals"]
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
        """The rows of ports.csv, latencies.csv or timeline.csv, which the scenario must ask for."""
        path = self.directory / f"{name}.csv"
        if not path.is_file():
            sys.exit(f"{self.name}: no {name}.csv; the scenario must ask for it (output.{name})")
        return rows(path)


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


def total(flows, *columns):
    return sum(int(flow[column]) for flow in flows for column in columns)


def latency_us(run, packets, permille):
    """A quantile of latencies.csv, which holds them by nearest rank for every permille."""
    for row in run.table("latencies"):
        if row["packets"] == packets and int(row["share_permille"]) == permille:
            return Fraction(int(row["latency_ps"]), 1_000_000)
    return None


def least_core_link(run):
    """Bytes of the least used link to or from a core, in percent of the mean of its switch's such links."""
    switches = {}
    for port in run.table("ports"):
        switch, side, _ = port["name"].rsplit(" ", 2)
        layer = switch.split()[0]
        if (layer, side) in (("core", "down"), ("aggregation", "up"), ("spine", "up")):
            switches.setdefault(switch, []).append(int(port["bytes"]))
    shares = [Fraction(min(b) * len(b) * 100, sum(b)) for b in switches.values() if sum(b)]
    return min(shares) if shares else None


def longest_idle(events):
    """The most, over the places, of the time between two departures in which nothing was sent, us."""
    idle, free = {}, {}
    for event in events:
        if event["event"] == "depart":
            place, begin = event["place"], int(event["time_ps"])
            idle[place] = idle.get(place, 0) + max(0, begin - free.get(place, begin))
            free[place] = int(event["until_ps"])
    return Fraction(max(idle.values()), 1_000_000) if idle else None


INTERVAL_PS = 100_000_000


def low_us(departures):
    """Intervals of 100 us, from the first departure on, that whole data packets filled to less than 90 %."""
    if not departures:
        return None
    begin, end = int(departures[0]["time_ps"]), int(departures[-1]["time_ps"])
    busy = {}
    for event in departures:
        if event["packet"] == "data":
            interval = (int(event["time_ps"]) - begin) // INTERVAL_PS
            length = int(event["until_ps"]) - int(event["time_ps"])
            busy[interval] = busy.get(interval, 0) + length
    whole = range((end - begin) // INTERVAL_PS)
    return Fraction(100 * sum(10 * busy.get(each, 0) < 9 * INTERVAL_PS for each in whole))


def of_timeline(name, run, place):
    events = run.table("timeline")
    here = [event for event in events if place in (None, event["place"])]
    if name == "timeline_low_us":
        return low_us([event for event in here if event["event"] == "depart"])
    if name == "timeline_trims":
        return Fraction(sum(event["event"] == "trim" for event in here)) if events else None
    if name == "timeline_idle_us":
        return longest_idle(here)
    found = [
        int(event["queue_packets"]) - 1
        for event in here
        if (event["event"], event["packet"]) == ("enqueue", "data") and int(event["attempt"]) > 0
    ]
    return Fraction(min(found)) if found else None


def shares(flows, run):
    """Goodput of each flow in percent of its share of 10 Gb/s."""
    goodputs = [goodput_gbps(flow, run) for flow in flows]
    return None if None in goodputs else sorted(g * len(flows) * 10 for g in goodputs)


def of_shares(name, flows, run):
    fair = shares(flows, run)
    if fair is None:
        return None
    slowest = fair[: -(-len(fair) // 10)]
    mean, worst = sum(fair) / len(fair), sum(slowest) / len(slowest)
    return {
        "fair_share_percent": mean,
        "worst_decile_fair_share_percent": worst,
        "worst_decile_below_mean_points": mean - worst,
    }[name]


def at_ports(run, kind, side, column):
    """A counter of the ports of one kind of switch that lead up or down, added up."""
    ports = [(port["name"].split(), int(port[column])) for port in run.table("ports")]
    return sum(count for words, count in ports if (words[0], words[2]) == (kind, side))


def fct_us(flows, percent):
    """A quantile by nearest rank; flows that have not ended are the slowest, and have no time."""
    times = sorted(int(f["fct_receiver_ps"]) for f in flows if f["fct_receiver_ps"] != "")
    rank = max(1, -(-len(flows) * percent // 100))
    return Fraction(times[rank - 1], 1_000_000) if rank <= len(times) else None


RESENT = ("retransmissions_signalled", "retransmissions_return", "retransmissions_timeout")


def of_counts(name, run, flows):
    """Measures that are ratios of two counts; None without a denominator."""
    arrived = sum(packets(flow, "delivered_bytes") for flow in run.flows)
    sent, trims, returns = (total(flows, column) for column in ("packets_sent", "trims", "returns"))
    if name == "uplink_trim_percent":
        up = [int(p["trimmed"]) for p in run.table("ports") if " up " in p["name"]]
        above, below = 100 * sum(up), sent
    elif name == "tor_up_trim_percent":
        above, below = 100 * at_ports(run, "tor", "up", "trimmed"), sent
    elif name == "past_tor_trim_percent":
        first = at_ports(run, "tor", "up", "trimmed")
        every = sum(int(port["trimmed"]) for port in run.table("ports"))
        above, below = 100 * (every - first), sent - first
    elif name == "host_link_percent":
        names = [port["name"].split() for port in run.table("ports")]
        links = [
            int(port["bytes"])
            for port, words in zip(run.table("ports"), names, strict=True)
            if (words[0], words[2]) == ("tor", "down")
        ]
        # 10 Gb/s carry one byte in 800 ps.
        above, below = 100 * 800 * sum(links), run.simulated_ps * len(links)
    else:
        above, below = {
            "hops_per_delivered_packet": (run.packet_hops, arrived),
            "retransmissions_per_packet": (total(flows, *RESENT), arrived),
            "nack_retransmissions_per_packet": (total(flows, RESENT[0]), arrived),
            "return_retransmissions_per_packet": (total(flows, RESENT[1]), arrived),
            "nack_over_return": (total(flows, RESENT[0]), max(1, total(flows, RESENT[1]))),
            "returned_header_percent": (100 * returns, returns + trims),
            "timeout_retransmissions_percent": (100 * total(flows, RESENT[2]), sent),
        }[name]
    return Fraction(above, below) if below else None


def measure(name, run, flows, place=None):
    """The number of one run, or None."""
    if not flows:
        return None
    if name == "path_removals":
        if len(flows) != len(run.flows):
            sys.exit(f"{run.name}: summary.json counts removals of all flows together")
        return Fraction(run.path_removals)
    if name.startswith("timeline_") or name == "retransmission_finds_packets":
        return of_timeline(name, run, place)
    if name == "least_core_link_percent":
        return least_core_link(run)
    latency = {
        "median_latency_us": ("all", 500),
        "median_later_latency_us": ("later", 500),
        "max_latency_us": ("all", 1000),
    }
    if name in latency:
        return latency_us(run, *latency[name])
    if "fair_share" in name or name == "worst_decile_below_mean_points":
        return of_shares(name, flows, run)
    if name == "flows_of_3_to_5_5_gbps":
        goodputs = [goodput_gbps(flow, run) for flow in flows]
        slow = [3 <= goodput <= Fraction("5.5") for goodput in goodputs if goodput is not None]
        return Fraction(sum(slow)) if len(slow) == len(flows) else None
    if name == "packet_hops_millions":
        return Fraction(run.packet_hops, 1_000_000)
    if name in ("tor_down_drops", "aggregation_down_drops"):
        return Fraction(at_ports(run, *name.split("_")[:2], "dropped"))
    if name in ("median_fct_receiver_us", "p99_fct_receiver_us"):
        return fct_us(flows, 50 if name.startswith("median") else 99)
    counted = name.endswith(("_per_packet", "_per_delivered_packet", "_over_return"))
    if counted or name in (
        "tor_up_trim_percent",
        "past_tor_trim_percent",
        "uplink_trim_percent",
        "host_link_percent",
        "returned_header_percent",
        "timeout_retransmissions_percent",
    ):
        return of_counts(name, run, flows)
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


def takes(place, label):
    """Whether a place of a sweep, a value or a range with both ends, is this one."""
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


def value_of(finding, run):
    """The finding's measure of one run, over the flows that it is about."""
    flows = [
        flow
        for flow in run.flows
        if finding.get("workload", flow["workload"]) == flow["workload"]
        and finding.get("pair", [int(flow["source"]), int(flow["destination"])])
        == [int(flow["source"]), int(flow["destination"])]
        and int(flow["start_ps"]) < 1_000_000 * finding.get("started_before_us", math.inf)
    ]
    return None if run.interrupted else measure(finding["measure"], run, flows, finding.get("place"))


def spread(run, key, values):
    """Largest less smallest among the runs that differ from this one in one key of the sweep alone."""
    rest = {name: label for name, label in run.point.items() if name != key}
    group = [
        value
        for other, value in values
        if (other.series, other.seed) == (run.series, run.seed)
        and {name: label for name, label in other.point.items() if name != key} == rest
    ]
    return max(group) - min(group) if len(group) > 1 and None not in group else None


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
    if "spread_over" in finding:
        return [(run.seed, spread(run, finding["spread_over"], values)) for run, _ in values]
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

    def mean(numbers):
        return sum(numbers) / len(numbers)

    def room(v):
        return min(([] if lo is None else [v - lo]) + ([] if hi is None else [hi - v]))

    def worst(numbers):
        return mean(numbers) if lo is None and hi is None else min(numbers, key=room)

    of_seeds = [worst(of_seed) for of_seed in seeds.values()]
    ours = mean(of_seeds) if finding.get("over_seeds", "each") == "mean" else worst(values)
    return ours, (lo is None and hi is None) or room(ours) >= 0, of_seeds


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
    """Whether the reported interval over the seeds is that of these values; it may be a little wider, as
    tables of Student's t have three decimals and few rows."""
    count = len(of_seeds)
    if count < 2 or reported is None:
        return count < 2 and reported is None
    mean = sum(of_seeds) / count
    variance = sum((value - mean) ** 2 for value in of_seeds) / (count - 1)
    half = student_t(count - 1) * math.sqrt(variance / count)
    most = half * (1.0005 if count <= 31 else 1.03) + 1e-9
    return (
        reported["count"] == count
        and math.isclose(float(mean), reported["mean"], rel_tol=1e-9, abs_tol=1e-9)
        and half * 0.9995 - 1e-9 <= reported["half_width"] <= most
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
        most = max(value for senders, value in over.items() if senders >= 11)
        compare("ndp/fig16", "NDP last flow over the ideal, 11 senders and more", most)
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
            for least, words in ((9, "8 senders"), (101, "100 senders")):
                most = max(v for (w, n), v in over.items() if w == window and n >= least)
                compare("ndp/fig20", f"last flow over the ideal, window {window}, more than {words}", most)
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
        least = min(Fraction(row["ndp_penalty_gbps"]) for row in flows)
        compare("ndp/fig22", "slowest flow with path penalty", least)
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
        reported = {finding["name"]: finding for finding in report["findings"]}
        if set(reported) != {finding["name"] for finding in expected["finding"]}:
            print(f"{name}: findings differ from expected.toml")
            differences += 1
        for finding in expected["finding"]:
            ours, holds, of_seeds = judge(finding, runs)
            # Only the quick tier may have none of the runs that a finding is about, or too few for its mean.
            is_mean = finding.get("over_seeds") == "mean" and ("lo" in finding or "hi" in finding)
            is_there = any(is_about(finding, run) for run in runs)
            not_judged = report.get("tier") == "quick" and (is_mean or not is_there)
            holds = holds or not_judged
            theirs = reported.get(finding["name"], {"ours": None, "holds": None})
            same_value = (ours is None) == (theirs["ours"] is None) and (
                ours is None or abs(float(ours) - theirs["ours"]) <= 1e-9 * max(1, abs(float(ours)))
            )
            bounds = all(finding.get(key) == theirs.get(key) for key in ("lo", "hi", "paper", "reference"))
            interval = same_interval(of_seeds, theirs.get("seeds"))
            agrees = same_value and bounds and interval and holds == theirs["holds"]
            agrees = agrees and not_judged == theirs.get("not_judged", False)
            differences += not agrees
            value = "-" if ours is None else f"{float(ours):.4f}"
            verdict = "not judged" if not_judged else "holds" if holds else "does not hold"
            note = "" if agrees else f"   DIFFERS: reported {theirs}"
            print(f"{name}  {finding['name']}: {value} {finding['unit']}, {verdict}{note}")
    print("the same verdicts" if differences == 0 else f"{differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
