"""The numbers of runs that findings are of, in exact fractions: the arithmetic of check_verdicts.py.

Shares no code with the program: Python standard library only.
"""

import itertools
import math
from fractions import Fraction


class Refused(Exception):
    """A measure that is unknown, or that needs more than the tables of a run have."""


FLOW_KEYS = {"workload", "pair", "started_before_us", "size_bytes"}
LIST_KEYS = {"reduce", "within"}
PORT_COLUMNS = {
    "port_packets": "packets",
    "port_bytes": "bytes",
    "port_trimmed": "trimmed",
    "port_dropped": "dropped",
    "port_returned": "returned",
    "port_detoured": "detoured",
    "port_notified": "notified",
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
    "fct": FLOW_KEYS | LIST_KEYS | {"at", "unit", "groups"},
    "query_completion": FLOW_KEYS | LIST_KEYS | {"unit"},
    "waiting": FLOW_KEYS | LIST_KEYS | {"unit", "groups"},
    "slowdown": FLOW_KEYS | LIST_KEYS | {"at", "groups"},
    "goodput": FLOW_KEYS | LIST_KEYS | {"unit"},
    "fair_share": FLOW_KEYS | LIST_KEYS,
    "incast_overhead": FLOW_KEYS,
    "packets_sent": FLOW_KEYS | {"unit"},
    "packets_delivered": {"unit"},
    "hops": {"per", "unit"},
    "retransmissions": FLOW_KEYS | {"cause", "per", "unit"},
    "headers_received": FLOW_KEYS | {"per", "unit"},
    "undelivered": FLOW_KEYS,
    "headers_returned": FLOW_KEYS | {"per", "unit"},
    "timeouts": FLOW_KEYS | {"per", "unit"},
    "path_removals": set(),
    "path_restorations": set(),
    "port_packets": LIST_KEYS | {"ports", "unit"},
    "port_bytes": LIST_KEYS | {"ports", "unit"},
    "port_trimmed": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_dropped": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_returned": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_notified": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "port_detoured": FLOW_KEYS | LIST_KEYS | {"ports", "beyond", "per", "unit"},
    "utilisation": LIST_KEYS | {"ports"},
    "latency": {"packets", "reduce", "unit"},
    "events": {"place", "event"},
    "idle_time": LIST_KEYS | {"place", "unit"},
    "bursts": LIST_KEYS | {"place", "gap_us", "of", "unit"},
    "low_time": {"place", "interval_us", "below_percent", "unit"},
    "queue_found": LIST_KEYS | {"place"},
    "queue": LIST_KEYS | {"ports", "pod", "of", "from_us", "to_us", "unit"},
    "fullest_queue": LIST_KEYS | {"ports", "pod", "from_us", "to_us", "unit"},
    "sampled_utilisation": LIST_KEYS | {"ports", "pod", "from_us", "to_us"},
    "links": {"workload", "size_bytes", "reduce"},
    "detours": {"workload", "size_bytes"},
    "detoured": {"workload", "size_bytes"},
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
    """The divisor of a value. A count without a range, and a quotient of values, are the same in every unit."""
    how = measure.get("reduce")
    if how in ("jain", "max_over_min", "min_of_switch") or (
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


def reduced(values, measure, missing_is_max):
    """Many values as one. A flow without a value is worse than all that have one; only a count does without it."""
    how, there = measure.get("reduce"), [value for value in values if value is not None]
    if not values:
        return None
    if how in ("count", "share"):
        within = measure.get("within", {})
        smallest, largest = exact(within.get("from", "-1e300")), exact(within.get("to", "1e300"))
        inside = sum(smallest <= value <= largest for value in there)
        return Fraction(inside) if how == "count" else Fraction(100 * inside, len(values))
    if "within" in measure:
        raise Refused("`within` without a count or a share")
    if how is not None and how[0] == "p" and how[1:].replace(".", "", 1).isdecimal():
        # The smallest value that this share of all does not exceed.
        rank = max(1, math.ceil(exact(how[1:]) * len(values) / 100))
        absent = len(values) - len(there)
        place = rank - 1 if missing_is_max else rank - 1 - absent
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
            "lowest_tenth": mean(slowest),
            "mean_less_lowest_tenth": mean(there) - mean(slowest),
        },
        how,
    )


def mean_of_groups(measure, run, flows):
    """The mean over flows of what their group gives: the flows of one receiver, of one class of sizes, or of both."""
    groups, alike = measure["groups"], {}
    if not set(groups) <= {"receivers", "sizes_up_to"}:
        raise Refused(f"groups by {sorted(groups)}")
    bounds = groups.get("sizes_up_to", [])
    for flow in flows:
        size = math.inf if flow["size_bytes"] == "" else int(flow["size_bytes"])
        bound = next((bound for bound in bounds if size <= bound), bounds[-1] if bounds else None)
        receiver = flow["destination"] if groups.get("receivers") else None
        alike.setdefault((receiver, bound), []).append(flow)
    one = {key: value for key, value in measure.items() if key != "groups"}
    numbers = [(of_flows(one, run, each), len(each)) for each in alike.values()]
    if not numbers or any(number is None for number, _ in numbers):
        return None
    return sum(number * count for number, count in numbers) / len(flows)


def of_flows(measure, run, flows):
    """A value of each flow."""
    if "groups" in measure:
        return mean_of_groups(measure, run, flows)
    quantity = measure["quantity"]
    if quantity in ("fct", "slowdown"):
        if measure.get("reduce") in ("sum", "lowest_tenth", "mean_less_lowest_tenth"):
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
        return reduced(values, measure, missing_is_max=True)
    if quantity == "waiting":
        if measure.get("reduce") in ("sum", "lowest_tenth", "mean_less_lowest_tenth"):
            raise Refused(f"no {measure['reduce']} of {quantity}")
        unit = unit_of(measure, PS_OF)
        both = [(flow["fct_receiver_ps"], flow["ideal_fct_ps"]) for flow in flows]
        values = [None if "" in each else Fraction(int(each[0]) - int(each[1])) / unit for each in both]
        return reduced(values, measure, missing_is_max=True)
    full = Fraction(run.link_bps, 10**9)
    if quantity == "fair_share":
        unit = full / len(flows) / 100 if flows else 1
    elif measure.get("unit") == "% of the host link":
        unit = full / 100
    else:
        unit = unit_of(measure, GBPS_OF)
    goodputs = [goodput_gbps(flow, run) for flow in flows]
    values = [None if each is None else each / unit for each in goodputs]
    return reduced(values, measure, missing_is_max=False)


def of_queries(measure, flows):
    """The time until the last answer of each query: answers of one client that began at one time."""
    if "workload" not in measure or measure.get("reduce") in ("sum", "lowest_tenth", "mean_less_lowest_tenth"):
        raise Refused("queries of no workload, or a sum of them")
    unit, queries = unit_of(measure, PS_OF), {}
    for flow in flows:
        queries.setdefault((flow["destination"], flow["start_ps"]), []).append(flow["fct_receiver_ps"])
    lasts = [None if "" in each else Fraction(max(map(int, each))) / unit for each in queries.values()]
    return reduced(lasts, measure, missing_is_max=True)


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
    """True if a port of ports.csv is one of the wanted ones: `tor 3 up 2`."""
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
    largest = sum(int(port["rate_bps"]) for port in port_rows) * run.simulated_ps
    return Fraction(100 * carried * 10**12, largest) if largest else None


def of_ports(measure, run):
    """A counter of each port, or how much of its link was used."""
    ports, column = selected_ports(measure, run), PORT_COLUMNS.get(measure["quantity"])
    if column is None and measure.get("reduce") == "mean":
        return utilisation(ports, run)
    if column is None and measure.get("reduce") in ("sum", "lowest_tenth", "mean_less_lowest_tenth"):
        raise Refused(f"no {measure['reduce']} of utilisation")
    unit = unit_of(measure, {None: 1} | (BYTES_OF if column == "bytes" else NUMBER_OF))

    def value(port):
        return utilisation([port], run) if column is None else Fraction(int(port[column])) / unit

    if measure.get("reduce") != "min_of_switch":
        return reduced([value(port) for port in ports], measure, missing_is_max=False)
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
    if quantity == "undelivered":
        there = [flow for flow in flows if flow["size_bytes"] and flow["end"] != "not-started"]
        size = total(there, "size_bytes")
        return Fraction(100 * (size - total(there, "delivered_bytes")), size) if size else None
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


EVENTS = (
    "enqueue",
    "trim",
    "mark",
    "depart",
    "arrive",
    "return",
    "notify",
    "drop",
    "detour",
    "lose",
)


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
        return reduced(values, measure, missing_is_max=True)
    if quantity == "bursts":
        units = {"bytes": BYTES_OF, "packets": {None: 1}, "span": PS_OF, "period": PS_OF}
        unit = unit_of(measure, named(units, measure.get("of")))
        found = bursts(here, 10**6 * measure["gap_us"], measure["of"])
        return reduced([Fraction(each, unit) for each in found], measure, missing_is_max=True)
    found = [
        Fraction(int(event["queue_packets"]) - 1)
        for event in here
        if (event["event"], event["packet"]) == ("enqueue", "data") and int(event["attempt"]) > 0
    ]
    return reduced(found, measure, missing_is_max=True)


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
    pod = f"pod {measure['pod']} " if "pod" in measure else ""
    group = f"{pod}{ports['layer']} {ports['direction']}"
    queues = measure.get("of", "all")
    if queues not in ("all", "data", "headers"):
        raise Refused(f"queues {queues!r}")
    begin, end = measure.get("from_us", 0), measure.get("to_us", math.inf)
    if column == "utilisation":
        unit = Fraction(1, 100)
    else:
        unit = unit_of(measure, BYTES_OF)

    def held(row):
        data = Fraction(row["data_queue_bytes_mean"]) if queues != "all" else 0
        return {"data": data, "headers": Fraction(row[column]) - data}.get(
            queues, Fraction(row[column])
        )

    values = [
        held(row) / unit
        for row in run.table("series")
        if row["layer"] == group and begin * 10**6 <= int(row["time_ps"]) <= end * 10**6
    ]
    return reduced(values, measure, missing_is_max=False)


def of_paths(measure, run):
    """The path lengths of data packets: rows of paths.csv."""
    sizes = measure.get("size_bytes", {})
    smallest, largest = sizes.get("from", 0), sizes.get("below", math.inf)

    def is_meant(row):
        if measure.get("workload", row["workload"]) != row["workload"]:
            return False
        if not sizes:
            return True
        bound = row["up_to_bytes"]
        return bool(bound) and int(bound) // 2 + 1 >= smallest and int(bound) < largest

    rows = [row for row in run.table("paths") if is_meant(row)]
    packets = total(rows, "packets")
    if not packets:
        return None
    if measure["quantity"] == "links" and measure.get("reduce") == "max":
        return Fraction(max(int(row["links"]) for row in rows))
    if measure["quantity"] == "links" and measure.get("reduce") != "mean":
        raise Refused("links are reduced by mean or max")
    weights = {
        "links": lambda row: int(row["links"]),
        "detours": lambda row: int(row["detours"]),
        "detoured": lambda row: 100 * (int(row["detours"]) > 0),
    }[measure["quantity"]]
    return Fraction(sum(weights(row) * int(row["packets"]) for row in rows), packets)


def of_hosts(measure, run, flows):
    """The counters between transports and links, of one host or of all."""
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
    if quantity == "query_completion":
        return of_queries(measure, flows)
    if quantity == "incast_overhead":
        return incast_overhead(run, flows)
    if quantity == "latency":
        return latency(measure, run)
    if quantity in ("events", "idle_time", "bursts", "low_time", "queue_found"):
        return of_timeline(measure, run)
    if quantity in ("queue", "fullest_queue", "sampled_utilisation"):
        return of_samples(measure, run)
    if quantity in ("links", "detours", "detoured"):
        return of_paths(measure, run)
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
