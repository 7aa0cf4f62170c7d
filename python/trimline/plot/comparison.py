"""The figure of a comparison: FCT CDFs, slowdown by flow size, goodput by rank; a line each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from trimline.comparison import SIZES, by_size, ended, size_name, sized
from trimline.files import MalformedResult
from trimline.looks import GREY, colours_of, label_of
from trimline.means import quantile
from trimline.plot import style
from trimline.results import Result, Results

#: So many points of a curve are seen.
POINTS = 2000

#: Beside its colour a series has a line and a marker of its own.
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "osD^vXP"


def write(results: Results, folder: Path) -> list[Path]:
    """Draws a comparison; gives the files written."""
    with pyplot.rc_context(style.SETTINGS):
        return style.write(draw(results), folder, "compare")


def draw(results: Results) -> Figure:
    """CDFs and slowdowns of flows that have a size, goodput of those that have none."""
    groups = results.groups()
    flows = {name: polars.concat([ended(run) for run in runs]) for name, runs in groups.items()}
    long = {name: [goodput_gbps(run) for run in runs] for name, runs in groups.items()}
    has_sized = any(len(every) for every in flows.values())
    has_long = any(len(run) for runs in long.values() for run in runs)
    count = 2 * has_sized + has_long
    if not count:
        raise MalformedResult(f"{results.folder}: no flow of a size ended; nothing to draw")
    figure, row = pyplot.subplots(
        1, count, figsize=(1.2 + 3.7 * count, 4.2), layout="constrained", squeeze=False
    )
    panels = list(row[0])
    looks = {name: Look.of(name, place, groups) for place, name in enumerate(groups)}
    if has_sized:
        counts = [sum(sized(run) for run in runs) for runs in groups.values()]
        completion(panels[0], flows, counts, looks)
        slowdown(panels[1], flows, looks)
    if has_long:
        throughput(panels[-1], long, looks)
    lines = [
        Line2D([], [], color=look.colour, linestyle=look.line, label=label_of(name))
        for name, look in looks.items()
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), 6))
    return figure


@dataclass(frozen=True)
class Look:
    """The look of a group of runs."""

    colour: str
    line: Any
    marker: str

    @staticmethod
    def of(name: str, place: int, groups: Iterable[str]) -> Look:
        """Takes the colour of its protocol everywhere; line and marker go by its place."""
        colour = colours_of(groups)[name]
        return Look(colour, LINES[place % len(LINES)], MARKERS[place % len(MARKERS)])


def completion(
    axes: Axes, flows: dict[str, polars.DataFrame], counts: list[int], looks: Mapping[str, Look]
) -> None:
    """Shares of all flows by completion time; a line ends below 100 % where some were not done."""
    largest, smallest = 0.0, math.inf
    for (name, every), count in zip(flows.items(), counts, strict=True):
        fct = every["fct_us"].sort()
        if len(fct):
            step = max(len(fct) // POINTS, 1)
            # The last one is shown whatever the step.
            ranks = [*range(0, len(fct) - 1, step), len(fct) - 1]
            shares = [100 * (rank + 1) / count for rank in ranks]
            look = looks[name]
            axes.plot(fct.gather(ranks), shares, color=look.colour, linestyle=look.line)
            smallest, largest = min(smallest, fct[0]), max(largest, fct[-1])
    axes.set(xlabel="Flow completion time (µs)", ylabel="Flows (%)", xscale="log", ylim=(0, 101))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    if largest > 0:
        # The axis ends where the flows do.
        axes.set_xlim(0.9 * smallest, 1.1 * largest)
    axes.set_title("Flows of a size, all seeds", fontsize=9)


def slowdown(axes: Axes, flows: dict[str, polars.DataFrame], looks: Mapping[str, Look]) -> None:
    """Slowdown by size: medians filled, 99th percentiles hollow."""
    rows = [(looks[name], by_size(every)) for name, every in flows.items()]
    met = {(low, high) for _, ranges in rows for low, high, _ in ranges}
    names = [size_name(*each) for each in pairwise((0.0, *SIZES)) if each in met]
    for place, (look, ranges) in enumerate(rows):
        for low, high, chosen in ranges:
            at = names.index(size_name(low, high)) + (place - (len(rows) - 1) / 2) * 0.12
            values = [quantile(chosen["slowdown"], share) for share in (0.5, 0.99)]
            own: dict[str, Any] = {"color": look.colour, "marker": look.marker}
            axes.plot([at, at], values, color=look.colour, linewidth=1)
            axes.plot(at, values[0], markersize=5, **own)
            axes.plot(at, values[1], markersize=5, markerfacecolor="white", **own)
    axes.set(xlabel="Flow size", ylabel="Slowdown over an idle network", yscale="log")
    axes.set_title("Flows of a size that were delivered", fontsize=9)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.yaxis.set_major_formatter("{x:g}")
    top = axes.get_ylim()[1]
    axes.set_ylim(0.9, 10 ** math.ceil(math.log10(max(top, 2))))
    grey: dict[str, Any] = {
        "color": GREY,
        "linestyle": "none",
        "marker": "o",
        "markersize": 5,
    }
    axes.legend(
        handles=[
            Line2D([], [], label="median", **grey),
            Line2D([], [], label="99th percentile", markerfacecolor="white", **grey),
        ],
        loc="upper left",
    )


def throughput(axes: Axes, runs: dict[str, list[polars.Series]], looks: Mapping[str, Look]) -> None:
    """Goodput of flows without end by rank: the mean over seeds, and what they lie between."""
    for name, seeds in runs.items():
        look = looks[name]
        several = [seed for seed in seeds if len(seed)]
        # A mean by rank needs as many flows in every seed.
        if len({len(seed) for seed in several}) == 1:
            ranks = polars.DataFrame({str(n): seed for n, seed in enumerate(several)})
            axes.plot(ranks.mean_horizontal(), color=look.colour, linestyle=look.line)
            if len(several) > 1:
                low, high = ranks.min_horizontal(), ranks.max_horizontal()
                axes.fill_between(range(len(low)), low, high, color=look.colour, alpha=0.2, lw=0)
        else:
            for seed in several:
                axes.plot(seed, linewidth=0.6, color=look.colour, linestyle=look.line)
    axes.set(xlabel="Flow, by rank of goodput", ylabel="Goodput (Gb/s)")
    axes.set_title("Flows without end", fontsize=9)
    axes.set_ylim(0, None)
    axes.set_xlim(0, None)


def goodput_gbps(run: Result) -> polars.Series:
    """Goodput of each flow without end after the warm-up, ascending; empty if it never ended."""
    span = run.summary["measured_ps"]
    if not span:
        return polars.Series("measured_bytes", [], polars.Float64)
    long = run.scan().filter(polars.col("size_bytes").is_null()).select("measured_bytes")
    measured = long.collect(engine="streaming")["measured_bytes"].sort()
    scaled: polars.Series = measured * (8_000 / span)
    return scaled
