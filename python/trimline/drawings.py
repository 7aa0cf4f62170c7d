"""Drawings of a report as SVG: the network, and what happened to packets."""

from __future__ import annotations

import html
from itertools import pairwise
from typing import Any

import polars

#: Width of a drawing in its own units.
WIDTH = 1040

#: Utilisation from nothing to all: dark to bright as lightness too, so that a grey print shows it.
SCALE = ((0.0, (198, 219, 239)), (0.5, (66, 146, 198)), (0.9, (8, 48, 107)), (1.0, (213, 94, 0)))

#: Colour, dash and name of a kind of packet.
KINDS = {
    "data": ("#0072B2", "", "data"),
    "header": ("#D55E00", "", "trimmed header"),
    "returned": ("#CC79A7", "", "header returned to its sender"),
    "notification": ("#CC79A7", "5 3", "notification"),
    "ack": ("#009E73", "", "ACK"),
    "nack": ("#D55E00", "5 3", "NACK"),
    "pull": ("#000000", "2 3", "PULL"),
    "reset": ("#767676", "8 3", "RESET"),
    "pause": ("#E69F00", "2 2", "pause frame"),
    "syn": ("#56B4E9", "", "SYN"),
    "syn-ack": ("#56B4E9", "5 3", "answer to a SYN"),
    "probe": ("#56B4E9", "2 3", "probe"),
    "rts": ("#56B4E9", "8 3", "request to send"),
    "token": ("#000000", "2 3", "token"),
    "grant": ("#000000", "2 3", "GRANT"),
    "resend": ("#D55E00", "5 3", "RESEND"),
    "busy": ("#767676", "2 3", "BUSY"),
    "cnp": ("#E69F00", "5 3", "congestion notification (CNP)"),
}

#: More than this cannot be told apart.
MAX_ARROWS = 400


def colour(share: float) -> str:
    """The colour of a utilisation."""
    for (low, below), (high, above) in pairwise(SCALE):
        if share <= high:
            part = max(share - low, 0) / (high - low)
            mixed = (round(a + (b - a) * part) for a, b in zip(below, above, strict=True))
            return "#" + "".join(f"{each:02x}" for each in mixed)
    return "#d55e00"


def scale() -> str:
    """The legend of the colours."""
    stops = ", ".join(f"{colour(share)} {share:.0%}" for share, _ in SCALE)
    bar = f'<span style="background: linear-gradient(to right, {stops})"></span>'
    return f'<div class="scale">0 % of the link{bar}100 %</div>'


def topology(ports: polars.DataFrame) -> str:
    """Switches as rows of dots, hosts below, every link a line; empty when there is no switch."""
    load: dict[str, dict[tuple[int, int], tuple[float, int]]] = {}
    # Without time there is no utilisation.
    known = ports.select("name", polars.col("utilisation").fill_null(0.0), "trimmed")
    for name, share, trimmed in known.iter_rows():
        words = name.split(" ")
        if len(words) == 4:
            layer = load.setdefault(f"{words[0]} {words[2]}", {})
            layer[int(words[1]), int(words[3])] = (share, trimmed)
    tors = count(load, "tor down")
    if not tors:
        return ""
    hosts_per_tor = ports_of(load, "tor down")
    # Of two tiers the upper one has a name of its own.
    middle = "spine" if "spine down" in load else "aggregation"
    aggregations, cores = count(load, f"{middle} down"), count(load, "core down")
    ups, downs = ports_of(load, "tor up"), ports_of(load, f"{middle} down")
    rows = {"core": 30.0, middle: 150.0, "tor": 290.0, "host": 360.0}
    if not cores:
        rows = {middle: 30.0, "tor": 170.0, "host": 240.0}
    if not aggregations:
        rows = {"tor": 30.0, "host": 120.0}
    lines = []

    def line(
        upper: tuple[str, float], lower: tuple[str, float], down: tuple[str, int, int], up: str
    ) -> None:
        share, trimmed = load.get(down[0], {}).get((down[1], down[2]), (0.0, 0))
        ends = f"{down[0].split(' ')[0]} {down[1]} down {down[2]}"
        title = f"{ends}: {share:.1%}, {trimmed} trimmed"
        other = 0.0
        if up:
            words = up.split(" ")
            key = (int(words[1]), int(words[3]))
            other, cut = load.get(f"{words[0]} {words[2]}", {}).get(key, (0.0, 0))
            title += f"; {up}: {other:.1%}, {cut} trimmed"
        busy = max(share, other)
        (high, x1), (low, x2) = upper, lower
        lines.append(
            (
                busy,
                f'<line x1="{x1:.1f}" y1="{rows[high]:g}" x2="{x2:.1f}" y2="{rows[low]:g}" '
                f'stroke="{colour(busy)}"><title>{html.escape(title)}</title></line>',
            )
        )

    at_tor = [WIDTH * (tor + 0.5) / tors for tor in range(tors)]
    at_aggregation = [WIDTH * (each + 0.5) / max(aggregations, 1) for each in range(aggregations)]
    at_core = [WIDTH * (each + 0.5) / max(cores, 1) for each in range(cores)]
    for tor, x in enumerate(at_tor):
        for port in range(hosts_per_tor):
            host = WIDTH * (tor * hosts_per_tor + port + 0.5) / (tors * hosts_per_tor)
            line(("tor", x), ("host", host), ("tor down", tor, port), "")
        pod = tor // max(downs, 1)
        for port in range(ups):
            above = pod * ups + port if cores else port
            place = tor % downs if cores else tor
            down = (f"{middle} down", above, place)
            line((middle, at_aggregation[above]), ("tor", x), down, f"tor {tor} up {port}")
    per_aggregation = ports_of(load, "aggregation up")
    for each in range(aggregations):
        for port in range(per_aggregation):
            core = each % ups * per_aggregation + port
            ends = ("core", at_core[core]), (middle, at_aggregation[each])
            line(*ends, ("core down", core, each // ups), f"aggregation {each} up {port}")
    # The busiest on top.
    drawn = "".join(text for _, text in sorted(lines, key=lambda line: line[0]))
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{rows[layer]:g}" r="3.5" fill="#1b1b1b"/>'
        for layer, places in (("tor", at_tor), (middle, at_aggregation), ("core", at_core))
        for x in places
    )
    words = "".join(
        f'<text x="2" y="{y - 12:g}" font-size="13" stroke="#fff" stroke-width="5" '
        f'paint-order="stroke">{name_of_row(layer)}</text>'
        for layer, y in rows.items()
    )
    height = max(rows.values()) + 10
    return (
        f'<svg class="topology" viewBox="0 -5 {WIDTH} {height:g}" role="img">'
        f'<g stroke-width="1">{drawn}</g>{dots}{words}</svg>'
    )


def name_of_row(layer: str) -> str:
    """A layer as a reader calls it."""
    return {"tor": "ToR", "host": "hosts"}.get(layer, layer)


def count(load: dict[str, dict[tuple[int, int], tuple[float, int]]], layer: str) -> int:
    """Switches of a layer."""
    return 1 + max((switch for switch, _ in load.get(layer, {})), default=-1)


def ports_of(load: dict[str, dict[tuple[int, int], tuple[float, int]]], layer: str) -> int:
    """Ports of a switch of a layer."""
    return 1 + max((port for _, port in load.get(layer, {})), default=-1)


def kinds() -> str:
    """The legend of the lines of a sequence."""
    samples = []
    for stroke, dash, name in KINDS.values():
        line = f'<line x1="0" y1="7" x2="34" y2="7" stroke="{stroke}" stroke-width="2" '
        line += f'stroke-dasharray="{dash}"/>'
        samples.append(f'<svg width="36" height="14">{line}</svg>{html.escape(name)}')
    return f'<div class="scale">{" ".join(samples)}</div>'


def sequence(timeline: polars.DataFrame) -> str:
    """Places as columns, time down, a line for each packet from where it left to where it came."""
    events = timeline.sort("time_ps", maintain_order=True)
    if not len(events):
        return ""
    # Pause frames are of no flow.
    flows = events.select("workload", "index", "source", "destination").drop_nulls().unique()
    rows = events.head(MAX_ARROWS * 3).to_dicts()
    senders = {f"host {source}" for source in flows["source"].drop_nulls()}
    for row in rows:
        row["column"] = column_of(row, senders)
    met = {row["column"] for row in rows}
    places = [place for place in COLUMNS if place in met]
    names = dict(zip(COLUMNS, COLUMNS, strict=True))
    if len(flows) == 1:
        names["sender"] = f"host {flows['source'][0]}"
        names["receiver"] = f"host {flows['destination'][0]}"
    step = (WIDTH - 180) / max(len(places) - 1, 1)
    column = {place: 90 + step * number for number, place in enumerate(places)}
    start: int = rows[0]["time_ps"]
    end: int = max(row["until_ps"] or row["time_ps"] for row in rows)
    height = min(max(60 + len(rows) * 7, 300), 6000)

    def y(time: int) -> float:
        return 50 + (height - 80) * (time - start) / max(end - start, 1)

    marks = Marks()
    left: dict[tuple[object, ...], tuple[float, float]] = {}
    waits: dict[tuple[object, ...], tuple[float, float]] = {}
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        x, at = column[row["column"]], y(row["time_ps"])
        stroke, dash, name = KINDS[row["packet"]]
        flow = (row["workload"], row["index"], row["source"], row["destination"])
        sort = "data" if row["packet"] == "header" else row["packet"]
        packet = (*flow, sort, row["sequence"], row["attempt"])
        number = "" if row["sequence"] is None else f" {row['sequence']}"
        title = f"{row['time_ps'] / 1e6:.3f} µs: {row['place']}: {name}{number}"
        title = html.escape(f"{title}, {row['event']}")
        if packet not in seen and row["event"] in ("depart", "enqueue"):
            # It begins here, as far as the timeline knows.
            marks.number(x, at, number.strip(), stroke)
        seen.add(packet)
        if packet in left and row["event"] != "mark":
            marks.line(left.pop(packet), (x, at), stroke, dash, title)
        if row["event"] == "depart":
            if packet in waits:
                marks.wait(waits.pop(packet), at, stroke, title)
            left[packet] = (x, at)
        elif row["event"] in ("enqueue", "trim"):
            waits[packet] = (x, at)
        if row["event"] in DISPOSITIONS:
            marks.disposition(x, at, f"{DISPOSITIONS[row['event']]}{number}", stroke, title)
    heads = "".join(
        f'<line x1="{x:.1f}" y1="34" x2="{x:.1f}" y2="{height}" stroke="#ccc"/>'
        f'<text x="{x:.1f}" y="24" font-size="12" text-anchor="middle">'
        f"{html.escape(names[place])}</text>"
        for place, x in column.items()
    )
    ticks = "".join(
        f'<text x="2" y="{y(start + (end - start) * i // 10):.1f}" font-size="11" fill="#555">'
        f"{(start + (end - start) * i / 10) / 1e6:.1f} µs</text>"
        for i in range(11)
    )
    shown = f"the first {len(rows)} of " if len(rows) < len(events) else ""
    return (
        f'<p class="note">{shown}{len(events)} events</p>'
        f'<svg class="sequence" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"{heads}{ticks}{''.join(marks.drawn[: MAX_ARROWS * 4])}</svg>"
    )


#: What becomes of a packet that loses something, in words.
DISPOSITIONS = {
    "trim": "trimmed",
    "mark": "marked",
    "drop": "dropped",
    "detour": "detoured",
    "lose": "lost",
    "return": "returned",
    "notify": "told of",
}

#: Two texts nearer than this would lie on each other.
NEAR = 11.0


class Marks:
    """The drawn marks of the packets of a timeline."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.drawn: list[str] = []
        #: Where the last text of a column stands, by its place.
        self.texts: dict[float, float] = {}

    def line(
        self,
        begin: tuple[float, float],
        end: tuple[float, float],
        stroke: str,
        dash: str,
        title: str,
    ) -> None:
        """A packet on its way."""
        (x0, y0), (x1, y1) = begin, end
        self.drawn.append(
            f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{stroke}" '
            f'stroke-width="1.3" stroke-dasharray="{dash}"><title>{title}</title></line>'
        )

    def wait(self, begin: tuple[float, float], end: float, stroke: str, title: str) -> None:
        """A packet in a queue: straight down until it leaves."""
        x, y = begin
        self.drawn.append(
            f'<line class="waits" x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{end:.1f}" '
            f'stroke="{stroke}" stroke-width="3" stroke-opacity="0.45">'
            f"<title>{title}</title></line>"
        )

    def number(self, x: float, y: float, text: str, stroke: str) -> None:
        """The number of a packet where it begins, unless another stands there."""
        if self.is_free(x - 1, y):
            self.drawn.append(
                f'<text class="number" x="{x - 5:.1f}" y="{y + 4:.1f}" font-size="10" '
                f'text-anchor="end" fill="{stroke}">{html.escape(text)}</text>'
            )

    def disposition(self, x: float, y: float, text: str, stroke: str, title: str) -> None:
        """A packet that lost something here; its words unless others stand there."""
        self.drawn.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="none" stroke="{stroke}"'
            f' stroke-width="1.6"><title>{title}</title></circle>'
        )
        if self.is_free(x + 1, y):
            self.drawn.append(
                f'<text x="{x + 7:.1f}" y="{y + 4:.1f}" font-size="11" fill="{stroke}">'
                f"{html.escape(text)}</text>"
            )

    def is_free(self, x: float, y: float) -> bool:
        """True if a text at this place overlaps no earlier text of its column."""
        is_free = y - self.texts.get(x, -NEAR) >= NEAR
        if is_free:
            self.texts[x] = y
        return is_free


#: Columns of a sequence: the way of a packet, whichever of equal paths it takes.
COLUMNS = (
    *("sender", "sender's ToR", "sender's aggregation", "core"),
    *("receiver's aggregation", "receiver's ToR", "receiver"),
)

#: Where a port stands on the way, for packets that go from the sender to the receiver.
FORWARD = {"tor up": 1, "aggregation up": 2, "aggregation down": 4, "tor down": 5}


def column_of(row: dict[str, Any], senders: set[str]) -> str:
    """The column of an event: a host, or its port's place on the way, counted from the sender.

    Pause frames go against the data. Those of hosts belong to no flow: a host that sends is a
    sender.
    """
    words = row["place"].split(" ")
    if words[0] == "host":
        is_sender = (
            row["place"] in senders if row["source"] is None else int(words[1]) == row["source"]
        )
        return "sender" if is_sender else "receiver"
    at = FORWARD.get(" ".join(word for word in words if not word.isdigit()), 3)
    # A probe of pFabric goes there and back: it is drawn on its way there.
    is_forward = row["packet"] in ("data", "header", "syn", "rts", "probe", "busy")
    return COLUMNS[at if is_forward else len(COLUMNS) - 1 - at]
