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
import itertools
import json
import math
import re
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

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


class Refused(Exception):
    """A measure that is not known, or of which the tables of a run do not tell enough."""


FLOW_KEYS = {"workload", "pair", "started_before_us", "size_bytes"}
LIST_KEYS = {"reduce", "within"}
PORT_COLUMNS = {
    "port_packets": "packets",
    "port_bytes": "bytes",
    "port_trimmed": "trimmed",
    "port_dropped": "dropped",
    "port_returned": "returned",
}
CAUSES = {
    "signalled": "retransmissions_signalled",
    "return": "retransmissions_return",
    "timeout": "retransmissions_timeout",
}
FLOW_COLUMNS = {
    "packets_sent": ["packets_sent"],
    "headers_received": ["trims"],
    "headers_returned": ["returns"],
    "timeouts": ["timeouts"],
    "retransmissions": list(CAUSES.values()),
}

#: What each quantity takes beside `quantity`: a key that is not here changes nothing that is known.
KNOWN = {
    "fct": FLOW_KEYS | LIST_KEYS | {"at", "unit"},
    "waiting": FLOW_KEYS | LIST_KEYS | {"unit"},
    "slowdown": FLOW_KEYS | LIST_KEYS | {"at"},
    "goodput": FLOW_KEYS | LIST_KEYS | {"unit"},
    "fair_share": FLOW_KEYS | LIST_KEYS,
    "incast_overhead": FLOW_KEYS,
    "packets_sent": FLOW_KEYS | {"unit"},
    "packets_delivered": {"unit"},
    "hops": {"per", "unit"},
    "retransmissions": FLOW_KEYS | {"cause", "per", "unit"},
    "headers_received": FLOW_KEYS | {"per", "unit"},
    "headers_returned": FLOW_KEYS | {"per", "unit"},
    "timeouts": FLOW_KEYS | {"per", "unit"},
    "path_removals": set(),
    "path_restorations": set(),
    "port_packets": LIST_KEYS | {"ports", "unit"},
    "port_bytes": LIST_KEYS | {"ports", "unit"},
    "port_trimmed": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_dropped": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_returned": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "utilisation": LIST_KEYS | {"ports"},
    "latency": {"packets", "reduce", "unit"},
    "events": {"place", "event"},
    "idle_time": LIST_KEYS | {"place", "unit"},
    "bursts": LIST_KEYS | {"place", "gap_us", "of", "unit"},
    "low_time": {"place", "interval_us", "below_percent", "unit"},
    "queue_found": LIST_KEYS | {"place"},
    "queue": LIST_KEYS | {"ports", "from_us", "to_us", "unit"},
    "fullest_queue": LIST_KEYS | {"ports", "from_us", "to_us", "unit"},
    "sampled_utilisation": LIST_KEYS | {"ports", "from_us", "to_us"},
    "processor_load": {"host", "at"},
    "bytes_an_answer": FLOW_KEYS | {"host", "unit"},
    "host_dropped": {"host", "unit"},
    "paced": {"host", "unit"},
}

PS_OF = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
GBPS_OF = {"Gb/s": 1, "Mb/s": Fraction(1, 1000)}
BYTES_OF = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
NUMBER_OF = {None: 1, "thousand": 10**3, "million": 10**6}


def named(names, name):
    """The value of a name that is known."""
    if name not in names:
        raise Refused(f"{name!r} is none of {', '.join(map(str, names))}")
    return names[name]


def exact(number):
    """A number of a TOML file as the fraction that its digits say."""
    return Fraction(str(number))


def unit_of(measure, units):
    """What a value is divided by. A count without a range, and a quotient of values, are the same in every unit."""
    how = measure.get("reduce")
    if how in ("jain", "max_over_min", "least_of_switch") or (
        how in ("count", "share") and "within" not in measure
    ):
        if "unit" in measure:
            raise Refused(f"a unit of {how}")
        return 1
    return named(units, measure.get("unit"))


def goodput_gbps(flow, run):
    """Payload bits over time: of the measured interval, or of the whole sized flow."""
    if flow["size_bytes"] == "":
        return Fraction(int(flow["measured_bytes"]) * 8000, run.measured_ps)
    if flow["fct_receiver_ps"] == "":
        return None
    return Fraction(int(flow["size_bytes"]) * 8000, int(flow["fct_receiver_ps"]))


def total(flows, *columns):
    return sum(int(flow[column]) for flow in flows for column in columns)


def mean(numbers):
    return sum(numbers) / len(numbers)


def reduced(values, measure, missing_is_most):
    """Many values as one. A flow without a value is worse than all that have one; only a count does without it."""
    how, there = measure.get("reduce"), [value for value in values if value is not None]
    if not values:
        return None
    if how in ("count", "share"):
        within = measure.get("within", {})
        least, most = exact(within.get("from", "-1e300")), exact(within.get("to", "1e300"))
        inside = sum(least <= value <= most for value in there)
        return Fraction(inside) if how == "count" else Fraction(100 * inside, len(values))
    if "within" in measure:
        raise Refused("`within` without a count or a share")
    if how is not None and how[0] == "p" and how[1:].replace(".", "", 1).isdecimal():
        # The smallest value that this share of all does not exceed.
        rank = max(1, math.ceil(exact(how[1:]) * len(values) / 100))
        absent = len(values) - len(there)
        place = rank - 1 if missing_is_most else rank - 1 - absent
        return sorted(there)[place] if 0 <= place < len(there) else None
    if len(there) != len(values):
        return None
    ascending = sorted(there)
    slowest = ascending[: -(-len(ascending) // 10)]
    if how == "jain":
        squares = sum(value * value for value in there)
        return sum(there) ** 2 / (len(there) * squares) if squares else None
    if how == "max_over_min":
        return ascending[-1] / ascending[0] if ascending[0] > 0 else None
    return named(
        {
            "mean": mean(there),
            "min": ascending[0],
            "max": ascending[-1],
            "sum": sum(there),
            "least_tenth": mean(slowest),
            "mean_less_least_tenth": mean(there) - mean(slowest),
        },
        how,
    )


def of_flows(measure, run, flows):
    """A value of each flow."""
    quantity = measure["quantity"]
    if quantity in ("fct", "slowdown"):
        if measure.get("reduce") in ("sum", "least_tenth", "mean_less_least_tenth"):
            raise Refused(f"no {measure['reduce']} of {quantity}")
        at = measure.get("at", "receiver" if quantity == "slowdown" else None)
        column = named({"receiver": "fct_receiver_ps", "sender": "fct_sender_ps"}, at)
        times = [None if flow[column] == "" else Fraction(int(flow[column])) for flow in flows]
        if quantity == "fct":
            ideals = [unit_of(measure, PS_OF)] * len(flows)
        else:
            ideal = {"receiver": "ideal_fct_ps", "sender": "ideal_fct_sender_ps"}[at]
            ideals = [int(flow[ideal] or 0) for flow in flows]
        pairs = zip(times, ideals, strict=True)
        values = [time / ideal if time is not None and ideal else None for time, ideal in pairs]
        return reduced(values, measure, missing_is_most=True)
    if quantity == "waiting":
        if measure.get("reduce") in ("sum", "least_tenth", "mean_less_least_tenth"):
            raise Refused(f"no {measure['reduce']} of {quantity}")
        unit = unit_of(measure, PS_OF)
        both = [(flow["fct_receiver_ps"], flow["ideal_fct_ps"]) for flow in flows]
        values = [None if "" in each else Fraction(int(each[0]) - int(each[1])) / unit for each in both]
        return reduced(values, measure, missing_is_most=True)
    full = Fraction(run.link_bps, 10**9)
    if quantity == "fair_share":
        unit = full / len(flows) / 100 if flows else 1
    elif measure.get("unit") == "% of the host link":
        unit = full / 100
    else:
        unit = unit_of(measure, GBPS_OF)
    goodputs = [goodput_gbps(flow, run) for flow in flows]
    values = [None if each is None else each / unit for each in goodputs]
    return reduced(values, measure, missing_is_most=False)


def incast_overhead(run, flows):
    """Percent by which the last flow exceeds the time in which the receiver's link is never idle."""
    if not flows or len({flow["destination"] for flow in flows}) > 1:
        return None
    if any("" in (flow["size_bytes"], flow["fct_receiver_ps"]) for flow in flows):
        return None
    alone, together = [], Fraction(0)
    for flow in flows:
        size = int(flow["size_bytes"])
        packets = max(1, -(-size // run.payload_bytes))
        link_ps = Fraction((size + packets * run.header_bytes) * 8 * 10**12, run.link_bps)
        alone.append(int(flow["ideal_fct_ps"]) - link_ps)
        together += link_ps
    last = max(int(flow["fct_receiver_ps"]) for flow in flows)
    return (last / (together + max(alone)) - 1) * 100


def is_meant(port, wanted):
    """Whether a port of ports.csv is one of the wanted ones: `tor 3 up 2`."""
    if not set(wanted) <= {"layer", "switch", "direction", "link"}:
        raise Refused(f"ports by {sorted(wanted)}")
    layer, switch, direction, link = port["name"].split()
    words = {"layer": layer, "switch": switch, "direction": direction, "link": link}
    return all(words[key] == str(value) for key, value in wanted.items())


def selected_ports(measure, run):
    """The rows of ports.csv that a measure is of."""
    wanted = measure.get("ports", {})
    wanted = [wanted] if isinstance(wanted, dict) else wanted
    return [port for port in run.table("ports") if any(is_meant(port, each) for each in wanted)]


def utilisation(port_rows, run):
    """Percent of what the links carry in the whole run."""
    carried = sum(8 * int(port["bytes"]) for port in port_rows)
    most = sum(int(port["rate_bps"]) for port in port_rows) * run.simulated_ps
    return Fraction(100 * carried * 10**12, most) if most else None


def of_ports(measure, run):
    """A counter of each port, or how much of its link was used."""
    ports, column = selected_ports(measure, run), PORT_COLUMNS.get(measure["quantity"])
    if column is None and measure.get("reduce") == "mean":
        return utilisation(ports, run)
    if column is None and measure.get("reduce") in ("sum", "least_tenth", "mean_less_least_tenth"):
        raise Refused(f"no {measure['reduce']} of utilisation")
    unit = unit_of(measure, {None: 1} | (BYTES_OF if column == "bytes" else NUMBER_OF))

    def value(port):
        return utilisation([port], run) if column is None else Fraction(int(port[column])) / unit

    if measure.get("reduce") != "least_of_switch":
        return reduced([value(port) for port in ports], measure, missing_is_most=False)
    switches = {}
    for port in ports:
        switches.setdefault(port["name"].rsplit(" ", 2)[0], []).append(value(port))
    shares = [100 * min(each) / mean(each) for each in switches.values() if sum(each)]
    return min(shares) if shares else None


def of_counts(measure, run, flows):
    """Something counted, or one count over another; None without a denominator."""
    quantity, per, sent_elsewhere = measure["quantity"], measure.get("per"), 0
    if quantity in run.of_all_flows:
        return Fraction(run.of_all_flows[quantity])
    if quantity == "hops":
        count = run.packet_hops
    elif quantity == "packets_delivered":
        count = run.packets_delivered
    elif quantity in PORT_COLUMNS:
        column, beyond = PORT_COLUMNS[quantity], measure.get("beyond")
        ports = selected_ports(measure, run)
        if beyond is not None:
            if "ports" in measure:
                raise Refused("`beyond` and `ports`")
            sent_elsewhere = sum(int(port[column]) for port in ports if is_meant(port, beyond))
            ports = [port for port in ports if not is_meant(port, beyond)]
        if not ports:
            return None
        count = sum(int(port[column]) for port in ports)
    elif "cause" in measure:
        count = total(flows, named(CAUSES, measure["cause"]))
    else:
        count = total(flows, *named(FLOW_COLUMNS, quantity))
    if per is None:
        return Fraction(count) / named(NUMBER_OF, measure.get("unit"))
    below = named(
        {
            "packet_sent": total(flows, "packets_sent") - sent_elsewhere,
            "packet_delivered": run.packets_delivered,
            "header": total(flows, "trims", "returns"),
            "return": max(1, total(flows, "retransmissions_return")),
        },
        per,
    )
    scale = named({None: 1, "%": 100}, measure.get("unit"))
    return Fraction(scale * count, below) if below > 0 else None


def latency(measure, run):
    """A quantile of latencies.csv, which holds them by nearest rank for every permille."""
    how = measure.get("reduce", "")
    known = {"min": Fraction(0), "max": Fraction(1000)}
    if how not in known and not (how[:1] == "p" and how[1:].replace(".", "", 1).isdecimal()):
        raise Refused(f"latencies.csv has quantiles, no {how}")
    permille = known[how] if how in known else exact(how[1:]) * 10
    if permille.denominator != 1:
        raise Refused(f"latencies.csv has no {how}: it goes by permille")
    packets = named({"all": "all", "later": "later"}, measure.get("packets"))
    for row in run.table("latencies"):
        if row["packets"] == packets and int(row["share_permille"]) == permille:
            return Fraction(int(row["latency_ps"]), named(PS_OF, measure.get("unit")))
    return None


def idle_times(events):
    """By place, the time between two departures in which nothing was sent, ps."""
    idle, free = {}, {}
    for event in events:
        if event["event"] == "depart":
            place, begin = event["place"], int(event["time_ps"])
            idle[place] = idle.get(place, 0) + max(0, begin - free.get(place, begin))
            free[place] = int(event["until_ps"])
    return list(idle.values())


def low_time(departures, interval_ps, percent):
    """Intervals, from the first departure on, that whole data packets filled to less than a share, ps."""
    if not departures:
        return None
    begin, end = int(departures[0]["time_ps"]), int(departures[-1]["time_ps"])
    busy = {}
    for event in departures:
        if event["packet"] == "data":
            interval = (int(event["time_ps"]) - begin) // interval_ps
            length = int(event["until_ps"]) - int(event["time_ps"])
            busy[interval] = busy.get(interval, 0) + length
    whole = range((end - begin) // interval_ps)
    return interval_ps * sum(100 * busy.get(each, 0) < percent * interval_ps for each in whole)


def bursts(events, gap_ps, what):
    """A number of each run of departures at a link that is never idle for so long between them."""
    links, found = {}, []
    for event in events:
        if event["event"] == "depart":
            links.setdefault(event["place"], []).append(event)
    for departures in links.values():
        begins = [int(event["time_ps"]) for event in departures]
        ends = [int(event["until_ps"]) for event in departures]
        cuts = [n for n in range(1, len(begins)) if begins[n] - ends[n - 1] >= gap_ps]
        edges = [0, *cuts, len(begins)]
        if what == "period":
            found += [begins[b] - begins[a] for a, b in itertools.pairwise(edges[:-1])]
            continue
        for first, after in itertools.pairwise(edges):
            size = sum(int(event["wire_bytes"]) for event in departures[first:after])
            span = ends[after - 1] - begins[first]
            found.append({"packets": after - first, "bytes": size, "span": span}[what])
    return found


EVENTS = ("enqueue", "trim", "mark", "depart", "arrive", "return", "drop", "lose")


def of_timeline(measure, run):
    quantity, place = measure["quantity"], measure.get("place")
    events = run.table("timeline")
    here = [event for event in events if place in (None, event["place"])]
    if quantity == "events":
        kind = named(dict(zip(EVENTS, EVENTS, strict=True)), measure.get("event"))
        return Fraction(sum(event["event"] == kind for event in here)) if events else None
    if quantity == "low_time":
        departures = [event for event in here if event["event"] == "depart"]
        low = low_time(departures, 10**6 * measure["interval_us"], measure["below_percent"])
        return None if low is None else Fraction(low, named(PS_OF, measure.get("unit")))
    if quantity == "idle_time":
        unit = unit_of(measure, PS_OF)
        values = [Fraction(each, unit) for each in idle_times(here)]
        return reduced(values, measure, missing_is_most=True)
    if quantity == "bursts":
        units = {"bytes": BYTES_OF, "packets": {None: 1}, "span": PS_OF, "period": PS_OF}
        unit = unit_of(measure, named(units, measure.get("of")))
        found = bursts(here, 10**6 * measure["gap_us"], measure["of"])
        return reduced([Fraction(each, unit) for each in found], measure, missing_is_most=True)
    found = [
        Fraction(int(event["queue_packets"]) - 1)
        for event in here
        if (event["event"], event["packet"]) == ("enqueue", "data") and int(event["attempt"]) > 0
    ]
    return reduced(found, measure, missing_is_most=True)


def of_samples(measure, run):
    """A value of each row of series.csv of one layer and direction."""
    column = {
        "queue": "queue_bytes_mean",
        "fullest_queue": "queue_bytes_max",
        "sampled_utilisation": "utilisation",
    }[measure["quantity"]]
    ports = measure.get("ports", {})
    if not isinstance(ports, dict) or set(ports) != {"layer", "direction"}:
        raise Refused("samples are of one layer and direction")
    group = f"{ports['layer']} {ports['direction']}"
    begin, end = measure.get("from_us", 0), measure.get("to_us", math.inf)
    if column == "utilisation":
        unit = Fraction(1, 100)
    else:
        unit = unit_of(measure, BYTES_OF)
    values = [
        Fraction(row[column]) / unit
        for row in run.table("series")
        if row["layer"] == group and begin * 10**6 <= int(row["time_ps"]) <= end * 10**6
    ]
    return reduced(values, measure, missing_is_most=False)


def of_hosts(measure, run, flows):
    """What stands between transports and links, of one host or of all."""
    quantity, host = measure["quantity"], measure.get("host")
    mine = [row for row in run.table("hosts") if host is None or int(row["host"]) == host]
    if not mine:
        return None
    if quantity == "processor_load":
        columns = {"receiver": "measured_receiving_ps", "sender": "measured_sending_ps"}
        busy = total(mine, named(columns, measure.get("at")))
        return Fraction(100 * busy, run.measured_ps * len(mine))
    if quantity == "bytes_an_answer":
        unit = named(BYTES_OF, measure.get("unit"))
        there = [flow for flow in flows if host is None or int(flow["destination"]) == host]
        sent = total(mine, "measured_sent")
        return Fraction(total(there, "measured_bytes"), sent * unit) if sent else None
    columns = {
        "host_dropped": ["queue_dropped", "ring_dropped", "pacer_dropped"],
        "paced": ["paced"],
    }[quantity]
    return Fraction(total(mine, *columns), named(NUMBER_OF, measure.get("unit")))


def number_of(measure, run, flows):
    """The number of one run, or None."""
    quantity = measure.get("quantity")
    if quantity not in KNOWN:
        raise Refused(f"no quantity {quantity!r}")
    if unknown := set(measure) - KNOWN[quantity] - {"quantity"}:
        raise Refused(f"{quantity} by {', '.join(sorted(unknown))}")
    if not run.flows:
        return None
    if quantity in ("fct", "waiting", "slowdown", "goodput", "fair_share"):
        return of_flows(measure, run, flows)
    if quantity == "incast_overhead":
        return incast_overhead(run, flows)
    if quantity == "latency":
        return latency(measure, run)
    if quantity in ("events", "idle_time", "bursts", "low_time", "queue_found"):
        return of_timeline(measure, run)
    if quantity in ("queue", "fullest_queue", "sampled_utilisation"):
        return of_samples(measure, run)
    if quantity in ("processor_load", "bytes_an_answer", "host_dropped", "paced"):
        return of_hosts(measure, run, flows)
    if quantity == "utilisation" or (
        quantity in PORT_COLUMNS and not {"per", "beyond"} & set(measure)
    ):
        if FLOW_KEYS & set(measure):
            raise Refused(f"{quantity} of selected flows")
        return of_ports(measure, run)
    if LIST_KEYS & set(measure):
        raise Refused(f"{quantity} is one number")
    return of_counts(measure, run, flows) if flows else None


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


def is_selected(flow, measure):
    """Whether a measure is of this flow."""
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
    """How much of the variance among such runs a straight line over the numbers of the key explains."""
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
    ours = mean(of_seeds) if finding.get("over_seeds", "each") == "mean" else worst(values)
    return ours, (lo is None and hi is None) or room(ours) >= 0, of_seeds


def theirs_of(finding):
    """(least, greatest) of what the authors' program gives: measured for the finding, else its reference."""
    theirs = finding.get("theirs")
    if theirs is None:
        least = greatest = finding.get("reference")
    else:
        least, greatest = (theirs.get("value", theirs.get(key)) for key in ("from", "to"))
    return None if least is None else (exact(least), exact(greatest))


def missed_by(finding, ours):
    """Who misses what `ours` misses: theirs too, beyond the same bound; ours alone; or there is no program."""
    theirs = theirs_of(finding)
    if theirs is None:
        return "no-program" if "theirs" in finding else None
    lo, hi = finding.get("lo"), finding.get("hi")
    below = lo is not None and ours < exact(lo) and theirs[0] < exact(lo)
    above = hi is not None and ours > exact(hi) and theirs[1] > exact(hi)
    return "as-theirs" if below or above else "both"


def same_theirs(finding, reported):
    """Whether the report has the numbers of the finding, and no others."""
    expected = theirs_of(finding) if "theirs" in finding else None
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
            missed = None if holds or ours is None else missed_by(finding, ours)
            agrees = agrees and missed == theirs.get("missed")
            agrees = agrees and same_theirs(finding, theirs.get("theirs"))
            differences += not agrees
            value = "-" if ours is None else f"{float(ours):.4f}"
            verdict = "not judged" if not_judged else "holds" if holds else "does not hold"
            verdict += f" ({missed})" if missed else ""
            note = "" if agrees else f"   DIFFERS: reported {theirs}"
            print(f"{name}  {finding['name']}: {value} {theirs.get('unit', '')}, {verdict}{note}")
    print("the same verdicts" if differences == 0 else f"{differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
