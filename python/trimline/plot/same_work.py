"""Several schemes on the same works: the table and the picture of beyond/same-work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from trimline.files import MalformedResult
from trimline.means import quantile, short
from trimline.plot import style
from trimline.plot.incast import Ideal
from trimline.plot.results import Experiment, Run


@dataclass(frozen=True)
class Work:
    """A work to compare: its series, and the flows that count."""

    series: str
    words: str
    #: The workload of the small flows, and what they are.
    small: str
    small_words: str
    #: Small flows are shorter than this.
    below: float = math.inf
    #: Large flows of a size have so much and more; none where all large flows are long-lived.
    large_from: float | None = None
    #: Only flows that began before this time, so that those that did not end are few.
    before_ms: float = math.inf
    #: Only runs with this number of senders.
    senders: int | None = None


WORKS = (
    Work("fig12", "heavy-tailed sizes", "flows", "below 10 KB", 10_000, 1_000_000),
    Work("fig15", "beside long-lived flows", "short", "90 KB"),
    Work("fig16", "incast of 431", "incast", "450 KB", large_from=0, senders=431),
    Work("fig23", "web, 4:1 oversubscribed", "web", "below 10 KB", 10_000, 100_000, before_ms=40),
)

#: The order of the schemes; others come behind them.
FIRST = (
    "ndp",
    "opf",
    "homa",
    "homa-aeolus",
    "phost",
    "pfabric",
    "pfabric-fastlane",
    "hull",
    "dctcp",
    "dcqcn",
    "fastlane",
    "tcp",
)

#: How much of the small flows is done, and how a point shows it.
SHARES = ((0.5, "median", 1.0), (0.99, "99 %", 0.45), (0.999, "99.9 %", 0.0))


@dataclass(frozen=True)
class Row:
    """The numbers of a scheme on a work: means over the seeds."""

    work: Work
    scheme: str
    #: Of small flows, by share, in us; infinite where more than the rest did not end.
    small_us: tuple[float, ...]
    #: Mean of the large flows that ended under every scheme, in us.
    large_us: float | None
    goodput_gbps: float
    #: Of packets sent.
    dropped_percent: float
    largest_queue_kb: float


def rows(experiment: Experiment) -> list[Row]:
    """Every scheme on every work, in the order of the scenario's schemes."""
    found = []
    for work in WORKS:
        by_scheme = schemes_of(experiment, work)
        common = ended_everywhere(by_scheme.values(), work)
        found += [row(work, scheme, runs, common) for scheme, runs in by_scheme.items()]
    if not found:
        raise MalformedResult(f"{experiment.folder}: no run of a work")
    return found


def schemes_of(experiment: Experiment, work: Work) -> dict[str, list[Run]]:
    """The runs of a work by scheme."""
    found: dict[str, list[Run]] = {}
    for series, runs in experiment.series().items():
        name, _, scheme = series.partition("-")
        if name == work.series:
            at = [run for run in runs if work.senders in (None, sent_by(run))]
            if at:
                found[scheme] = at
    order = {name: number for number, name in enumerate(FIRST)}
    return dict(sorted(found.items(), key=lambda each: order.get(each[0], len(order))))


def sent_by(run: Run) -> int | None:
    """Senders of an incast."""
    return int(run.point["senders"]) if "senders" in run.point else None


def flows_of(run: Run) -> polars.DataFrame:
    """Flows of a run: workload, index, start, size, completion."""
    columns = ["workload", "source", "index", "start_ps", "size_bytes", "fct_receiver_ps"]
    types = dict.fromkeys(columns[1:], polars.Int64)
    read = polars.scan_csv(run.folder / "flows.csv", schema_overrides=types)
    return read.select(columns).collect()


def chosen(flows: polars.DataFrame, work: Work) -> polars.DataFrame:
    """Those of a size that began in time."""
    began = polars.col("start_ps") < work.before_ms * 1e9
    return flows.filter(began & polars.col("size_bytes").is_not_null())


def large(flows: polars.DataFrame, work: Work) -> polars.DataFrame:
    """The large ones that ended."""
    ended = polars.col("fct_receiver_ps").is_not_null()
    smallest = math.inf if work.large_from is None else work.large_from
    return chosen(flows, work).filter(ended & (polars.col("size_bytes") >= smallest))


#: What makes two flows of two runs the same.
KEY = ["workload", "source", "index", "size_bytes"]


def ended_everywhere(every: Iterable[Sequence[Run]], work: Work) -> dict[int, polars.DataFrame]:
    """By seed the large flows that every scheme has ended."""
    found: dict[int, polars.DataFrame] = {}
    for runs in every:
        for run in runs:
            keys = large(flows_of(run), work).select(KEY)
            before = found.get(run.seed)
            found[run.seed] = keys if before is None else before.join(keys, on=KEY, how="semi")
    return found


def row(work: Work, scheme: str, runs: Sequence[Run], common: dict[int, polars.DataFrame]) -> Row:
    """The numbers of a scheme."""
    small: list[polars.Series] = []
    means = []
    for run in runs:
        flows = flows_of(run)
        mine = polars.col("workload") == work.small
        of_size = chosen(flows, work).filter(mine & (polars.col("size_bytes") < work.below))
        small.append(of_size["fct_receiver_ps"].cast(polars.Float64).fill_null(math.inf) / 1e6)
        both = large(flows, work).join(common[run.seed], on=KEY, how="semi")
        if len(both):
            means.append(both["fct_receiver_ps"].to_numpy().mean() / 1e6)
    every = polars.concat(small)
    if not len(every):
        raise MalformedResult(f"{runs[0].folder}: no small flow")
    return Row(
        work=work,
        scheme=scheme,
        small_us=tuple(quantile(every, share) for share, _, _ in SHARES),
        large_us=fmean(means) if means else None,
        goodput_gbps=fmean(goodput_gbps(run) for run in runs),
        dropped_percent=fmean(dropped_percent(run) for run in runs),
        largest_queue_kb=max(largest_queue_kb(run) for run in runs),
    )


def goodput_gbps(run: Run) -> float:
    """Payload that arrived, over the run."""
    column = polars.scan_csv(run.folder / "flows.csv").select(polars.col("measured_bytes").sum())
    return float(column.collect().item()) * 8_000 / run.measured_ps


def dropped_percent(run: Run) -> float:
    """Packets that ports dropped, in percent of those sent."""
    return 100 * run.number("ports", "dropped") / max(run.number("packets_sent"), 1)


def largest_queue_kb(run: Run) -> float:
    """The most that the queues of a port of a switch held at a sample."""
    samples = polars.read_csv(run.folder / "series.csv")
    ports = samples.filter(~polars.col("layer").str.starts_with("host"))
    largest = ports["queue_bytes_max"].max()
    return float(largest) / 1e3 if isinstance(largest, int | float) else 0.0


def given_up(every: Sequence[Row], one: Row) -> float:
    """By how many percent the goodput is below the best scheme's on the same work."""
    best = max(each.goodput_gbps for each in every if each.work is one.work)
    return 100 * (1 - one.goodput_gbps / best)


def table(every: Sequence[Row]) -> str:
    """The numbers as Markdown."""
    head = (
        "work",
        "scheme",
        *(f"small flows, {words} (µs)" for _, words, _ in SHARES),
        "large flows, mean (µs)",
        "goodput below the best's (%)",
        "dropped (%)",
        "largest queue (KB)",
    )
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for one in every:
        numbers = [
            *one.small_us,
            one.large_us,
            given_up(every, one),
            one.dropped_percent,
            one.largest_queue_kb,
        ]
        cells = [one.work.series, style.NAMES.get(one.scheme, one.scheme), *map(cell, numbers)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(value: float | None) -> str:
    """Three digits; a dash for a missing value, and words for what did not end."""
    if value is None:
        return "-"
    return short(value) if math.isfinite(value) else "not ended"


def figure(experiment: Experiment) -> Figure:
    """Small flows, largest queue and goodput of every scheme, a column a work; HULL's buffer."""
    every = rows(experiment)
    works = [work for work in WORKS if any(each.work is work for each in every)]
    names = list(dict.fromkeys(each.scheme for each in every))
    drawn, panels = pyplot.subplots(
        3,
        len(works) + 1,
        figsize=(3.0 * (len(works) + 1) + 1, 7.6),
        layout="constrained",
        squeeze=False,
        height_ratios=(2, 1.2, 1.2),
    )
    for work, column in zip(works, panels.T, strict=False):
        mine = [each for each in every if each.work is work]
        completion(column[0], mine, names)
        title = f"{work.words}\n({work.series}; small flows: {work.small_words})"
        column[0].set_title(title, fontsize=8)
        bars(column[1], mine, names, lambda one: one.largest_queue_kb, "Largest queue (KB)")
        column[1].set(xscale="log", xlim=(5, 8_000))
        column[1].xaxis.set_major_formatter("{x:g}")
        bars(
            column[2], mine, names, lambda one: given_up(every, one), "Goodput below the best's (%)"
        )
        for axes in column:
            words = [style.NAMES.get(name, name) for name in names]
            axes.set_yticks(range(len(names)), words if work is works[0] else [""] * len(names))
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
    by_buffer(experiment, list(panels[:, -1]))
    grey: dict[str, Any] = {"markeredgecolor": style.GREY, "markersize": 6, "linestyle": "none"}
    points = [
        Line2D([], [], marker="o", markerfacecolor=(*to_rgb(style.GREY), filled), **grey)
        for _, _, filled in SHARES
    ]
    words = [f"small flows: {words}" for _, words, _ in SHARES]
    drawn.legend(points, words, loc="outside lower center", ncols=3)
    drawn.suptitle("The same works for every scheme")
    return drawn


def completion(axes: Axes, mine: Sequence[Row], names: Sequence[str]) -> None:
    """Quantiles of the small flows, a line a scheme."""
    # What takes tens of milliseconds is shown in them.
    scale, unit = (1e3, "ms") if min(one.small_us[0] for one in mine) > 10_000 else (1.0, "µs")
    for one in mine:
        at = names.index(one.scheme)
        colour = style.colour_of(one.scheme)
        done = [value / scale for value in one.small_us if math.isfinite(value)]
        axes.plot(done, [at] * len(done), color=colour, linewidth=1.2)
        for value, (_, _, filled) in zip(done, SHARES, strict=False):
            axes.plot(value, at, "o", color=colour, markersize=6, markerfacecolor="white")
            axes.plot(value, at, "o", color=colour, markersize=6, alpha=filled)
        if len(done) < len(one.small_us):
            axes.annotate("not ended", (done[-1], at), (8, -3), textcoords="offset points")
    axes.set(xscale="log", xlabel=f"FCT of small flows ({unit})")
    smallest, largest = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if largest < 50 * smallest else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def bars(
    axes: Axes,
    mine: Sequence[Row],
    names: Sequence[str],
    value: Callable[[Row], float],
    words: str,
) -> None:
    """A number a scheme."""
    for one in mine:
        number = value(one)
        axes.barh(names.index(one.scheme), number, color=style.colour_of(one.scheme), height=0.6)
    axes.set_xlabel(words)


def by_buffer(experiment: Experiment, panels: Sequence[Axes]) -> None:
    """HULL and DCTCP under incast by what a queue holds."""
    looks = {11: ":", 101: "--", 431: "-"}
    for series in ("buffer-hull", "buffer-dctcp"):
        every = experiment.series().get(series, [])
        scheme = series.partition("-")[2]
        for senders, line in looks.items():
            runs = sorted(
                (run for run in every if sent_by(run) == senders),
                key=lambda run: int(run.point["data_queue"].removesuffix("pkt")),
            )
            if not runs:
                continue
            ideal = Ideal.of(runs)
            held = [int(run.point["data_queue"].removesuffix("pkt")) for run in runs]
            measures = (
                [ideal.over_percent(run.fct_ms()[-1], senders) for run in runs],
                [dropped_percent(run) for run in runs],
                [largest_queue_kb(run) for run in runs],
            )
            words = f"{style.NAMES[scheme]}, {senders} senders"
            for axes, values in zip(panels, measures, strict=True):
                axes.plot(
                    held, values, line, color=style.colour_of(scheme), label=words, marker="."
                )
    labels = ("Last flow over the ideal (%)", "Dropped (% of packets)", "Largest queue (KB)")
    for axes, words in zip(panels, labels, strict=True):
        axes.set(xscale="log", xlabel="Packets that a queue holds", ylabel=words)
        axes.xaxis.set_major_formatter("{x:g}")
    panels[0].set_yscale("symlog", linthresh=1)
    panels[0].set_ylim(0, None)
    panels[2].set_yscale("log")
    for axes in (panels[0], panels[2]):
        axes.yaxis.set_major_formatter("{x:g}")
    panels[0].set_title("incast by buffer (fig16)", fontsize=8)
    panels[1].legend(fontsize=6, handlelength=3.2, loc="upper right")
    panels[1].set_ylim(0, 27)


__all__ = ["figure", "rows", "table"]
