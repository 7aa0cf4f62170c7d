"""Beyond the papers: NDP's options where they help and where they do not; mixed packet sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from trimline.files import MalformedResult
from trimline.means import Measure, quantile, short
from trimline.plot import style
from trimline.plot.intervals import (
    MINUS,
    Change,
    above,
    beside,
    dot,
    doublings,
    ends,
    percent,
    rows_at,
    runs_of,
    seeds_words,
    signed,
)
from trimline.plot.lines import of_series, place
from trimline.plot.results import Experiment, Run
from trimline.plot.sweeps import goodput, percent_of_link

#: Payloads of beyond/ndp-small-packets, each with its goal against 9000 B in percent.
GOALS = {1500: -6.0, 750: -12.0}
#: What follows the payload in the name of a series, and what it is.
SMALL = {
    "": "as the paper has it",
    "-window": "first window in bytes",
    "-queue": "data queue in bytes",
    "-acks": "joined ACKs",
    "-all": "all three",
}


def small_changes(experiment: Experiment) -> dict[int, dict[str, Change]]:
    """By payload and option, by how many percent goodput is more than with 9000 B."""
    base = of_series(experiment, "9000")
    found: dict[int, dict[str, Change]] = {}
    for payload in GOALS:
        for option in SMALL:
            if runs := runs_of(experiment, f"{payload}{option}"):
                found.setdefault(payload, {})[option] = percent(runs, base, goodput)
    if not found:
        raise MalformedResult(f"{experiment.folder}: no series of small packets")
    return found


def small_packets(experiment: Experiment) -> Figure:
    """Goodput of a permutation with small packets against 9000 B: a panel a payload."""
    found = small_changes(experiment)
    figure, panels = pyplot.subplots(
        len(found),
        sharex=True,
        figsize=(6.4, 0.9 + 1.5 * len(found)),
        layout="constrained",
        squeeze=False,
    )
    for axes, (payload, changes) in zip(panels.flat, found.items(), strict=True):
        rows_at(axes, [SMALL[option] for option in changes])
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        goal = GOALS[payload]
        axes.axvline(goal, color=style.BLACK, linewidth=1.0, linestyle="--")
        above(axes, goal, f"goal: at most {-goal:g} % less", style.BLACK)
        for y, (option, change) in enumerate(changes.items()):
            colour = style.GREEN if option else style.BLUE
            dot(axes, ends(change.measure), y, colour)
            beside(axes, y, signed(change.measure), colour)
        axes.set_title(f"Packets of {payload} B", loc="left", fontsize=9)
    places = [
        end
        for changes in found.values()
        for each in changes.values()
        for end in ends(each.measure)
        if end is not None
    ]
    panels[-1][0].set_xlim(1.1 * min(*places, *GOALS.values()), max(3, 1.1 * max(places)))
    panels[-1][0].set_xlabel("Mean goodput against packets of 9000 B (%)")
    counts = [each.seeds for changes in found.values() for each in changes.values()]
    figure.suptitle(f"Permutation, NDP with small packets ({seeds_words(counts)})")
    return figure


@dataclass(frozen=True)
class Work:
    """A congested core, and the goals for it."""

    series: str
    words: str
    #: Only flows that began before this time, so that those that did not end are few.
    before_ms: float = math.inf
    #: Packets resent for each that was delivered: no more than this.
    resent: float | None = None


WORKS = (
    Work("web-4", "Web traffic, 4:1 oversubscribed", before_ms=40),
    Work("web-8", "Web traffic, 8:1 oversubscribed", before_ms=40),
    Work("permutation-8", "Permutation, 8:1 oversubscribed", resent=0.2),
)
#: Of what the paper's pulls have: trims, and median and 99th percentile.
HALF, NO_WORSE = 0.5, 1.0


def trimmed_percent(run: Run) -> float:
    """Packets that ports trimmed, in percent of those sent."""
    return 100 * run.number("ports", "trimmed") / max(run.number("packets_sent"), 1)


def resent(run: Run) -> float:
    """Retransmissions for each packet that was delivered."""
    causes = run.summary.get("retransmissions")
    if not isinstance(causes, dict):
        raise MalformedResult(f"{run.folder / 'summary.json'}: no `retransmissions`")
    again = sum(run.number("retransmissions", cause) for cause in causes)
    return again / max(run.number("packets_delivered"), 1)


def completion_us(run: Run, share: float, before_ms: float) -> float:
    """The time after which `share` of the flows that began in time were done, in us."""
    path = run.folder / "flows.csv"
    types = {"start_ps": polars.Int64, "fct_receiver_ps": polars.Int64}
    try:
        read = polars.scan_csv(path, schema_overrides=types).select(list(types))
        flows = read.filter(polars.col("start_ps") < before_ms * 1e9).collect()
    except polars.exceptions.PolarsError as error:
        raise MalformedResult(f"{path}: no usable {' and '.join(types)} ({error})") from error
    if not len(flows):
        raise MalformedResult(f"{path}: no flow that began in time")
    times = flows["fct_receiver_ps"].cast(polars.Float64).fill_null(math.inf) / 1e6
    found = quantile(times, share)
    if not math.isfinite(found):
        raise MalformedResult(f"{path}: fewer than {100 * share:g} % of the flows ended")
    return found


@dataclass(frozen=True)
class Ratio:
    """A row of a work: what the core's rate makes of a number."""

    words: str
    unit: str
    #: In binary logarithms.
    change: Change
    #: The quotient should not be more.
    goal: float | None

    @property
    def quotient(self) -> float:
        """After over before: the geometric mean over the seeds."""
        return float(2**self.change.measure.mean)


def core_ratios(experiment: Experiment) -> dict[str, list[Ratio]]:
    """By work, what the core's rate changes: trims, packets resent, median and 99th percentile."""
    found: dict[str, list[Ratio]] = {}
    for work in WORKS:
        paper = runs_of(experiment, f"{work.series}-paper")
        ours = runs_of(experiment, f"{work.series}-core-rate")
        if not paper or not ours:
            # Of a part of the series one alone has nothing to be compared with.
            continue

        def time(share: float, work: Work = work) -> Callable[[Run], float]:
            return lambda run: completion_us(run, share, work.before_ms)

        again = doublings(ours, paper, resent)
        goal = None if work.resent is None else work.resent / again.before
        found[work.series] = [
            Ratio("packets trimmed", "%", doublings(ours, paper, trimmed_percent), HALF),
            Ratio("packets resent", "a packet", again, goal),
            Ratio("median FCT", "us", doublings(ours, paper, time(0.5)), NO_WORSE),
            Ratio("99th-percentile FCT", "us", doublings(ours, paper, time(0.99)), NO_WORSE),
        ]
    if not found:
        raise MalformedResult(f"{experiment.folder}: no work with and without the core's rate")
    return found


def from_to(row: Ratio) -> str:
    """The number before and after."""
    before, after, unit = row.change.before, row.change.after, row.unit
    if unit == "us":
        unit = "µs"
        if max(before, after) >= 1000:
            before, after, unit = before / 1e3, after / 1e3, "ms"
    return f"{short(before)} \N{RIGHTWARDS ARROW} {short(after)} {unit}".rstrip()


#: What quotients are called; others are numbers.
QUOTIENTS = {0.5: "half", 1.0: "the same", 2.0: "twice"}


def called(quotient: float) -> str:
    """A power of two as people say it."""
    number = f"{quotient:g} times" if quotient >= 1 else f"1/{1 / quotient:g}"
    return QUOTIENTS.get(quotient, number)


def congested_cores(experiment: Experiment) -> Figure:
    """Effects of pulls at the core's rate on trims, packets resent and completion times."""
    found = core_ratios(experiment)
    works = [work for work in WORKS if work.series in found]
    figure, panels = pyplot.subplots(
        len(works),
        sharex=True,
        figsize=(6.8, 1.3 + 1.3 * len(works)),
        layout="constrained",
        squeeze=False,
    )
    places = []
    for axes, work in zip(panels.flat, works, strict=True):
        axes.axvline(1, color=style.GREY, linewidth=0.8)
        rows = found[work.series]
        rows_at(axes, [row.words for row in rows])
        for y, row in enumerate(rows):
            # Of the logarithm: as far below as above where halving is as far as doubling.
            mean, *interval = [
                None if end is None else float(2**end) for end in ends(row.change.measure)
            ]
            dot(axes, (row.quotient, interval[0], interval[1]), y, style.VERMILION)
            places += [each for each in (mean, *interval, row.goal) if each is not None]
            if row.goal is not None:
                axes.plot([row.goal] * 2, [y - 0.32, y + 0.32], color=style.BLACK, linewidth=1.8)
            times = f"\N{MULTIPLICATION SIGN} {short(row.quotient)}"
            beside(axes, y, f"{times}:  {from_to(row)}", style.VERMILION)
        axes.set_title(work.words, loc="left", fontsize=9)
    low = math.floor(math.log2(min(places)) - 0.3)
    high = max(math.ceil(math.log2(max(places)) + 0.3), 1)
    axes = panels[-1][0]
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0**low, 2.0**high)
    for each in panels.flat:
        each.xaxis.set_major_locator(FixedLocator([2.0**n for n in range(low, high + 1)]))
        each.xaxis.set_minor_locator(NullLocator())
        each.xaxis.set_major_formatter(lambda value, _: called(value))
    axes.set_xlabel("Against NDP as the paper has it")
    goal = Line2D([], [], color=style.BLACK, linewidth=1.8, label="goal: no more than this")
    goal.set(marker="|", linestyle="none", markersize=10, markeredgewidth=1.8)
    figure.legend(handles=[goal], loc="outside lower center")
    counts = [row.change.seeds for rows in found.values() for row in rows]
    figure.suptitle(f"NDP with pulls at the core's rate ({seeds_words(counts)})")
    return figure


#: Series of beyond/mixed-mtu: transport, and words where it is not the transport alone.
MIXED = {
    "ndp": ("ndp", None),
    "ndp-window": ("ndp", "NDP, window in bytes"),
    "ndp-turns": ("ndp", "NDP, turns of bytes"),
    "ndp-window-turns": ("ndp", "NDP, turns and\nwindow in bytes"),
    "dctcp": ("dctcp", None),
    "mptcp": ("mptcp", None),
    "dcqcn": ("dcqcn", None),
}
#: What the quick tier has in their place: too few hosts to be beside them.
FEW_HOSTS = "small-ndp"
#: Workloads: words, marker.
KINDS = {"large": ("flows of 9000 B", "o"), "small": ("flows of 1500 B", "s")}


@dataclass(frozen=True)
class Goodputs:
    """Goodput of a workload in percent of a host's link, mean of its flows and the slowest."""

    mean: Measure
    slowest: Measure
    seeds: int


def goodputs_of(runs: Sequence[Run], workload: str) -> Goodputs:
    """Over the seeds of a series."""
    means, slowest = [], []
    for run in runs:
        found = [
            run.link_percent(flow.measured_bytes * 8_000 / run.measured_ps)
            for flow in run.flows
            if flow.workload == workload
        ]
        if not found:
            raise MalformedResult(f"{run.folder}: no flow of workload {workload!r}")
        means.append(fmean(found))
        slowest.append(min(found))
    mean, smallest = Measure.of(means), Measure.of(slowest)
    if mean is None or smallest is None:
        raise MalformedResult("no run of the series")
    return Goodputs(mean, smallest, len(runs))


def mixed_goodputs(experiment: Experiment) -> dict[str, dict[str, Goodputs]]:
    """By series and workload; beside each transport (`ndp`) the same with 9000 B for all."""
    found = {}
    for name, (transport, _) in MIXED.items():
        for series in (name, f"{transport}-all-large"):
            if runs := runs_of(experiment, series):
                found[series] = {kind: goodputs_of(runs, kind) for kind in KINDS}
    if not any(name in found for name in MIXED):
        # What the quick tier has.
        few = experiment.series().get(FEW_HOSTS)
        if not few:
            raise MalformedResult(f"{experiment.folder}: no transport with both packet sizes")
        found[FEW_HOSTS] = {kind: goodputs_of(few, kind) for kind in KINDS}
    return found


def said(axes: Axes, measure: Measure, y: float, colour: str, *, left: bool) -> None:
    """The number beside its dot, at the side where no line is, if there is room."""
    reach = measure.half_width or 0.0
    edge = measure.mean - reach if left else measure.mean + reach
    if left and edge < 5:
        return
    axes.annotate(
        f"{measure.mean:.0f}",
        (edge, y),
        xytext=(-6 if left else 6, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        fontsize=7,
        color=colour,
    )


def mixed_mtu(experiment: Experiment) -> Figure:
    """Goodput by payload for each transport, and of the same flows with 9000 B for all."""
    found = mixed_goodputs(experiment)
    looks_of = MIXED | {FEW_HOSTS: ("ndp", "NDP, 16 hosts")}
    names = [name for name in looks_of if name in found]
    figure, panels = pyplot.subplots(
        1, 2, sharex=True, sharey=True, figsize=(8.8, 1.7 + 0.65 * len(names)), layout="constrained"
    )
    link = experiment.runs[0].host_link
    half = 50 * link.full_gbps / link.gbps
    for axes, title in zip(panels, ("Mean of the flows", "Slowest flow"), strict=True):
        rows_at(axes, [looks_of[name][1] or style.name_of(name) for name in names])
        axes.axvline(half, color=style.GREY, linewidth=0.8, linestyle=":")
        above(axes, half, "half of a full link", style.GREY)
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel(percent_of_link(experiment))
        axes.set_xlim(0, 100)
    for y, name in enumerate(names):
        transport, _ = looks_of[name]
        colour = style.colour_of(transport)
        alone = found.get(f"{transport}-all-large") if name != FEW_HOSTS else None
        for (kind, (_, marker)), shift in zip(KINDS.items(), (-0.19, 0.19), strict=True):
            for axes, number in zip(panels, ("mean", "slowest"), strict=True):
                measure: Measure = getattr(found[name][kind], number)
                before = measure.mean
                if alone is not None:
                    all_large: Measure = getattr(alone[kind], number)
                    before = all_large.mean
                    both = [before, measure.mean]
                    axes.plot(both, [y + shift] * 2, color=colour, linewidth=0.7)
                    dot(axes, ends(all_large), y + shift, colour, marker, filled=False)
                dot(axes, ends(measure), y + shift, colour, marker)
                said(axes, measure, y + shift, colour, left=measure.mean < before)
    looks: dict[str, Any] = {"color": style.GREY, "linestyle": "none", "markersize": 5}
    handles: list[Any] = [Line2D([], [], marker=mark, **looks) for _, mark in KINDS.values()]
    labels = [words for words, _ in KINDS.values()]
    if any(f"{transport}-all-large" in found for transport, _ in MIXED.values()):
        looks["markerfacecolor"] = "white"
        handles.append(tuple(Line2D([], [], marker=mark, **looks) for _, mark in KINDS.values()))
        labels.append("the same flows when all have 9000 B")
    beside_each_other: Any = HandlerTuple(ndivide=None)
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        handler_map={tuple: beside_each_other},
    )
    counts = [each.seeds for kinds in found.values() for each in kinds.values()]
    figure.suptitle(
        f"Each host sends a flow of 9000 B packets and one of 1500 B ({seeds_words(counts)})"
    )
    return figure


def last_ms(run: Run) -> float:
    """Completion of the last flow, in ms."""
    return run.fct_ms()[-1]


#: Figures of the paper, what is looked at in them, and the number.
COSTS: tuple[tuple[str, str, Callable[[Run], float]], ...] = (
    ("fig14", "Figure 14, permutation: mean goodput, less is worse", goodput),
    ("fig16", "Figure 16, incasts of 450 KB: last flow, more is worse", last_ms),
    ("fig20", "Figure 20, incasts of 270 KB: last flow, more is worse", last_ms),
)
#: Sets of options: words, colour, marker.
OPTIONS = {
    "small": ("options for small packets", style.GREEN, "o"),
    "core": ("pulls at the core's rate", style.VERMILION, "D"),
}
#: The expected maximum of a change, in percent.
BAND = 0.5


def by_senders(runs: Sequence[Run]) -> dict[float | None, list[Run]]:
    """The runs of a series by senders, ascending; what is no incast has none."""
    found: dict[float | None, list[Run]] = {}
    for run in runs:
        key = place(run, "senders") if run.point else None
        found.setdefault(key, []).append(run)
    return dict(sorted(found.items(), key=lambda each: each[0] or 0))


def option_costs(experiment: Experiment) -> dict[str, dict[float | None, dict[str, Change]]]:
    """By figure, senders and options, the change in percent."""
    found: dict[str, dict[float | None, dict[str, Change]]] = {}
    for series, _, value in COSTS:
        base = by_senders(runs_of(experiment, f"{series}-paper"))
        for option in OPTIONS:
            own = by_senders(runs_of(experiment, f"{series}-{option}"))
            if not own or not base:
                # Of a part of the series one alone has nothing to be compared with.
                continue
            if own.keys() != base.keys():
                raise MalformedResult(
                    f"{experiment.folder}: {series}-{option} and {series}-paper differ in senders"
                )
            for senders, runs in own.items():
                rows = found.setdefault(series, {}).setdefault(senders, {})
                rows[option] = percent(runs, base[senders], value)
    if not found:
        raise MalformedResult(f"{experiment.folder}: no figure with and without options")
    return found


def options_cost(experiment: Experiment) -> Figure:
    """The changes by options in figures where nothing is to be gained: a panel a figure."""
    found = option_costs(experiment)
    shown = [(series, words) for series, words, _ in COSTS if series in found]
    heights = [len(found[series]) for series, _ in shown]
    figure, panels = pyplot.subplots(
        len(shown),
        sharex=True,
        figsize=(6.8, 1.5 + 0.42 * sum(heights) + 0.3 * len(shown)),
        layout="constrained",
        squeeze=False,
        height_ratios=heights,
    )
    edges = [-2 * BAND, 2 * BAND]
    for axes, (series, words) in zip(panels.flat, shown, strict=True):
        rows = found[series]
        rows_at(axes, ["" if n is None else f"{n:g} senders" for n in rows])
        axes.axvspan(-BAND, BAND, color="#eeeeee", linewidth=0)
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        for y, changes in enumerate(rows.values()):
            for option, change in changes.items():
                at = y + (-0.19 if option == "small" else 0.19)
                _, colour, marker = OPTIONS[option]
                found_ends = ends(change.measure)
                dot(axes, found_ends, at, colour, marker)
                beside(axes, at, signed(change.measure), colour)
                edges += [each for each in found_ends if each is not None]
        counts = [change.seeds for changes in rows.values() for change in changes.values()]
        axes.set_title(f"{words} ({seeds_words(counts)})", loc="left", fontsize=8)
    # Linear as far as the band goes: beyond it a change of 15 % would hide changes of 0.5 %.
    axes = panels[-1][0]
    axes.set_xscale("symlog", linthresh=BAND)
    low, high = 1.5 * min(edges), 1.5 * max(edges)
    axes.set_xlim(low, high)
    marks = (BAND, 2, 5, 20, 50)
    ticks = [each for each in (*(-mark for mark in marks), 0, *marks) if low < each < high]
    for each in panels.flat:
        each.xaxis.set_major_locator(FixedLocator(ticks))
        each.xaxis.set_minor_locator(NullLocator())
        each.xaxis.set_major_formatter(
            lambda value, _: f"{value:+g}".replace("-", MINUS) if value else "0"
        )
    axes.set_xlabel(
        "Change against the paper's NDP (%)\n"
        f"grey: {BAND:g} % to either side; beyond, the scale is logarithmic"
    )
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=words)
        for words, colour, marker in OPTIONS.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle("NDP's options where they are not needed, packets of 9000 B")
    return figure
