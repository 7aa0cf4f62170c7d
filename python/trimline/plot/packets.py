"""Figures that show packets: one after the other, how long they took, where they were trimmed."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import of_series, seeds
from trimline.plot.results import Experiment, Run

#: Lanes of a timeline, from what the link carries up to the source.
LINK, DESTINATION, SWITCH, SOURCE = range(4)
#: The port to the destination.
PORT = "tor 0 down 0"


def fig03(experiment: Experiment) -> Figure:
    """One packet trimmed at a full queue: its header, NACK, retransmission; the link's packets."""
    names = {"one-switch": "Around one switch", "between-pods": "As far as between pods"}
    figure, panels = pyplot.subplots(
        4, figsize=(6.8, 7.6), height_ratios=(2.2, 1, 2.2, 1), layout="constrained"
    )
    for number, (series, title) in enumerate(names.items()):
        run = min(of_series(experiment, series), key=lambda run: run.seed)
        above, below = panels[2 * number : 2 * number + 2]
        timeline(above, run)
        queue(below, run)
        end = max(int(row["time_ps"]) for row in run.rows("timeline")) / 1e6
        for axes in (above, below):
            axes.set_xlim(-1, end + 1)
        above.set_title(title, fontsize=9)
        above.tick_params(labelbottom=False)
        below.set_xlabel("Time (µs)")
    figure.suptitle("Nine packets meet at a queue of eight; one is trimmed (simulated)")
    return figure


def at_queue(row: dict[str, str]) -> bool:
    """True if a row happened at the port to the destination."""
    return row["place"] == PORT


def us(row: dict[str, str], column: str = "time_ps") -> float:
    """A time of a timeline."""
    return int(row[column]) / 1e6


def timeline(axes: Axes, run: Run) -> None:
    """The way of the packet that is trimmed, and what the link to the destination carries."""
    rows = run.rows("timeline")
    trimmed = [row for row in rows if row["event"] == "trim" and at_queue(row)]
    if len(trimmed) != 1:
        raise MalformedResult(f"{run.folder}: {len(trimmed)} packets were trimmed, not one")
    source = trimmed[0]["source"]
    sender, receiver = f"host {source}", f"host {trimmed[0]['destination']}"

    def one(event: str, packet: str, place: str, attempt: int = 0) -> dict[str, str]:
        """The event of the trimmed packet's flow that is this one."""
        wanted = (event, packet, place, str(attempt), source)
        for row in rows:
            found = (row["event"], row["packet"], row["place"], row["attempt"], row["source"])
            if found == wanted:
                return row
        raise MalformedResult(f"{run.folder}: no {event} of a {packet} at {place} in the timeline")

    for row in rows:
        if row["event"] == "depart" and at_queue(row):
            begin, length = us(row), us(row, "until_ps") - us(row)
            is_own = row["source"] == source
            is_data = row["packet"] == "data"
            colour = style.VERMILION if is_own else style.SKY
            axes.broken_barh(
                [(begin, length)],
                (LINK - 0.3, 0.6),
                facecolor=colour,
                edgecolor="white",
                linewidth=0.8,
            )
            if is_data:
                middle = begin + length / 2
                axes.text(middle, LINK, row["source"], ha="center", va="center", fontsize=7)
    steps = (
        ("", one("depart", "data", sender), SOURCE, trimmed[0], SWITCH, style.VERMILION),
        (
            "header",
            one("depart", "header", PORT),
            SWITCH,
            one("arrive", "header", receiver),
            DESTINATION,
            style.BLACK,
        ),
        (
            "NACK with PULL",
            one("depart", "nack", receiver),
            DESTINATION,
            one("arrive", "nack", sender),
            SOURCE,
            style.GREEN,
        ),
        (
            "retransmission",
            one("depart", "data", sender, 1),
            SOURCE,
            one("enqueue", "data", PORT, 1),
            SWITCH,
            style.VERMILION,
        ),
    )
    arrival = us(one("arrive", "data", receiver, 1))
    axes.plot(arrival, DESTINATION, marker="v", color=style.VERMILION, markersize=6)
    axes.annotate(
        "arrives",
        (arrival, DESTINATION),
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=7,
        ha="center",
    )
    for words, leaves, lower, comes, upper, colour in steps:
        begin, end = us(leaves), us(comes)
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (end, upper), (begin, lower), arrowprops=arrow)
        # Left of those that go steeply, where nothing else is.
        is_steep = words in ("header", "NACK with PULL")
        share = 0.5 if words == "retransmission" else 0.3 if words == "header" else 0.75
        if words:
            axes.annotate(
                words,
                (begin + share * (end - begin), lower + share * (upper - lower)),
                xytext=(-4 if is_steep else 8, 0 if is_steep else 4),
                textcoords="offset points",
                fontsize=7,
                color=colour,
                ha="right" if is_steep else "left",
                va="center",
            )
    axes.plot(us(trimmed[0]), SWITCH, marker="x", color=style.BLACK, markersize=7)
    axes.annotate(
        "trimmed", (us(trimmed[0]), SWITCH), xytext=(6, 5), textcoords="offset points", fontsize=7
    )
    axes.set_yticks(
        [LINK, DESTINATION, SWITCH, SOURCE],
        ["link to it", "destination", "switch", f"source {source}"],
    )
    axes.set_ylim(LINK - 0.4, SOURCE + 0.3)
    axes.grid(axis="y", visible=False)


def queue(axes: Axes, run: Run) -> None:
    """Packets in the data queue of the port to the destination, the one on the wire included."""
    rows = [row for row in run.rows("timeline") if at_queue(row) and row["packet"] == "data"]
    times = [us(row) for row in rows]
    lengths = [int(row["queue_packets"]) for row in rows]
    last = [us(row, "until_ps") for row in rows if row["event"] == "depart"][-1]
    axes.step([times[0], *times, last], [0, *lengths, 0], where="post", color=style.BLUE)
    again = next(row for row in rows if row["event"] == "enqueue" and row["attempt"] == "1")
    found = int(again["queue_packets"]) - 1
    dot: dict[str, Any] = {
        "color": style.VERMILION,
        "marker": "o",
        "markersize": 4,
        "linestyle": "none",
    }
    axes.plot(us(again), found + 1, **dot)
    axes.annotate(
        f"the retransmission finds {found}",
        (us(again), found + 1),
        xytext=(5, 5),
        textcoords="offset points",
        fontsize=7,
        color=style.VERMILION,
    )
    axes.set(ylabel="Data queue\n(packets)", ylim=(0, 9.5), yticks=(0, 4, 8))


def fig04(experiment: Experiment) -> Figure:
    """The distribution of the time from a first sending of a packet to its ACK."""
    figure, axes = pyplot.subplots(layout="constrained", figsize=(6.0, 4.4))
    kinds = {
        "permutation": ("permutation, IW 30", style.BLUE, "-"),
        "permutation-15": ("permutation, IW 15", style.BLUE, ":"),
        "random": ("random, IW 30", style.GREEN, "-"),
        "random-15": ("random, IW 15", style.GREEN, ":"),
        "incast-135KB": ("incast of 100 x 135 KB", style.VERMILION, "--"),
        "incast-1350KB": ("incast of 100 x 1350 KB", style.PURPLE, "-."),
    }
    for series, (words, colour, line) in kinds.items():
        if series.endswith("-15") and series not in experiment.series():
            continue
        runs = of_series(experiment, series)
        rows = [row for row in runs[0].rows("latencies") if row["packets"] == "all"]
        shares = [int(row["share_permille"]) / 10 for row in rows]
        times = [int(row["latency_ps"]) / 1e6 for row in rows]
        axes.plot(times, shares, color=colour, linestyle=line, label=words)
    words = "paper: median of the\nfirst four around 100 µs"
    axes.plot(100, 50, color=style.BLACK, linestyle="none", marker="x", label=words)
    words = "paper: last packet of\nthe 135 KB, 11,055 µs"
    axes.plot(11_055, 100, color=style.BLACK, linestyle="none", marker="+", label=words)
    axes.get_lines()[-1].set_clip_on(False)
    axes.set(
        xscale="log",
        xlabel="First sending to ACK at the sender (µs)",
        ylabel="Packets (%)",
        ylim=(0, 101),
        title=f"Time that packets take on 432 hosts, NDP, simulated ({seeds(experiment.runs)})",
    )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(loc="center left", bbox_to_anchor=(0.36, 0.5))
    return figure


def sec323(experiment: Experiment) -> Figure:
    """Packets trimmed on the way up, by tier: the sender permutes paths, or switches draw them."""
    figure, axes = pyplot.subplots(layout="constrained", figsize=(6.4, 4.2))
    # Each with the finding that is about it.
    kinds = {
        "sender-permuted": ("permuted by\nsenders, IW 30", "permuted by the sender"),
        "switch-random": ("drawn by\nswitches, IW 30", "chosen by the switches"),
        "sender-permuted-15": ("permuted by\nsenders, IW 15", "permuted by the sender, window 15"),
        "switch-random-15": ("drawn by\nswitches, IW 15", "chosen by the switches, window 15"),
    }
    kinds = {name: kinds[name] for name in kinds if name in experiment.series()}
    if not kinds:
        raise MalformedResult(f"{experiment.folder}: no series that it shows")
    tiers = {
        "tor": ("ToR to aggregation", style.SKY),
        "aggregation": ("aggregation to core", style.BLUE),
    }
    width = 0.26
    for number, series in enumerate(kinds):
        runs = of_series(experiment, series)
        every = {"both": ("all uplinks", style.GREY), **tiers}
        for shift, (tier, (words, colour)) in enumerate(every.items()):
            share = fmean(trimmed_up(run, tier) for run in runs)
            label = f"{words}, simulated ({seeds(runs)})" if number == 0 else None
            place = number + (shift - 1) * width
            drawn = axes.bar(place, share, width * 0.92, color=colour, label=label)
            # Above the line of the paper, where it crosses a label.
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
            axes.bar_label(drawn, fmt="%.2g", fontsize=7, padding=2, bbox=box, zorder=5)
    paper = {each.name.removeprefix(UPLINKS): each.paper for each in experiment.findings}
    for number, (_, name) in enumerate(kinds.values()):
        if (value := paper.get(name)) is not None:
            edges = [number - 1.5 * width, number + 1.5 * width]
            label = "paper" if number == 0 else None
            axes.plot(edges, [value] * 2, color=style.BLACK, linestyle="--", label=label)
    axes.set_xticks(range(len(kinds)), [words for words, _ in kinds.values()])
    axes.set(
        yscale="log",
        ylim=(0.001, 30),
        xlabel="Paths",
        ylabel="Trimmed (% of packets sent)",
    )
    figure.suptitle("Packets trimmed on the way up, permutation on 128 hosts, by who chose paths")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


#: How the findings about it begin.
UPLINKS = "trimmed on uplinks, paths "


def trimmed_up(run: Run, tier: str) -> float:
    """Packets trimmed at ports that lead up, of one tier or both, in percent of those sent."""
    names = ("tor", "aggregation") if tier == "both" else (tier,)
    ports = [row for row in run.rows("ports") if " up " in row["name"]]
    trimmed = sum(int(row["trimmed"]) for row in ports if row["name"].split()[0] in names)
    return 100 * trimmed / run.number("packets_sent")
