"""The figure of a comparison: FCT CDFs, slowdown by flow size, goodput by rank; a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib
import polars
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from trimline.comparison import SIZES, by_size, ended, goodputs_gbps, size_name, sized
from trimline.curves import spread
from trimline.distributions import groups_of
from trimline.files import MalformedResult
from trimline.looks import GREY, colours_of, label_of
from trimline.means import quantile
from trimline.plot import style
from trimline.plot.finish import finish
from trimline.plot.plots import logarithmic, panels, plain, rank
from trimline.progress import counted
from trimline.results import Results

#: So many points of a curve are seen.
POINTS = 2000

#: Beside its colour a series has a line and a marker of its own.
LINES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (3, 1)),
)
MARKERS = "osD^vXP*"

#: The colour and the line of each group.
Looks = Mapping[str, Mapping[str, Any]]


def write(results: Results, folder: Path) -> list[Path]:
    """Draws a comparison; gives the files written."""
    with matplotlib.rc_context(style.SETTINGS):
        return style.write(figure(results), folder, "compare")


def figure(results: Results, *, include_stopped: bool = False) -> style.Drawing:
    """Draws a comparison, with its legend."""
    with matplotlib.rc_context(style.SETTINGS):
        drawn = draw(results, include_stopped=include_stopped)
        finish(drawn)
        return drawn


def draw(results: Results, *, include_stopped: bool = False) -> style.Drawing:
    """CDFs and slowdowns of flows that have a size, goodput of those that have none."""
    groups = groups_of(results, include_stopped)
    every = [run for runs in groups.values() for run in runs]
    read = iter([(ended(run), goodputs_gbps(run)) for run in counted(every, "figure, runs")])
    of_groups = {name: [next(read) for _ in runs] for name, runs in groups.items()}
    flows = {name: polars.concat([run[0] for run in runs]) for name, runs in of_groups.items()}
    long = {name: [run[1] for run in runs] for name, runs in of_groups.items()}
    has_sized = any(map(len, flows.values()))
    has_long = any(run for runs in long.values() for run in runs)
    count = 2 * has_sized + has_long
    if not count:
        raise MalformedResult(f"{results.folder}: no flow of a size ended; nothing to draw")
    figure, grid = panels(1, count, (1.2 + 3.7 * count, 4.4), squeeze=False)
    row, colours = list(grid[0]), colours_of(groups)
    looks = {
        name: {"color": colours[name], "linestyle": LINES[place % len(LINES)]}
        for place, name in enumerate(groups)
    }
    if has_sized or max(len(run) for runs in long.values() for run in runs) > 1:
        for place, (name, look) in enumerate(looks.items()):
            marker = {"marker": MARKERS[place % len(MARKERS)]} if has_sized else {}
            row[0].plot([], [], label=label_of(name), **marker, **look)
    if has_sized:
        counts = [sum(map(sized, runs)) for runs in groups.values()]
        completion(row[0], flows, counts, looks)
        slowdown(row[1], flows, colours)
    if has_long:
        throughput(row[-1], long, looks)
    return figure


def completion(
    axes: Axes, flows: Mapping[str, polars.DataFrame], counts: Sequence[int], looks: Looks
) -> None:
    """Shares of all flows by completion time; a line ends below 100 % where some were not done."""
    ends: list[float] = []
    for (name, every), count in zip(flows.items(), counts, strict=True):
        fct = every["fct_us"].sort()
        if len(fct):
            ranks = spread(len(fct), POINTS)
            shares = [100 * (rank + 1) / count for rank in ranks]
            axes.plot(fct.gather(ranks), shares, **looks[name])
            ends += [fct[0], fct[-1]]
    axes.set(xlabel="Flow completion time (µs)", ylabel="Flows (%)", ylim=(0, 101))
    logarithmic(axes, "x")
    # The axis ends where the flows do.
    axes.set_xlim(0.9 * min(ends), 1.1 * max(ends))
    few_ticks(axes.xaxis, max(ends) / min(ends))
    axes.set_title("Completion times, all seeds", fontsize=9)


def few_ticks(axis: Any, span: float) -> None:
    """Names 1, 2 and 5 of each decade of a short axis, of a long one the decades alone."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 300 else (1,)))
    axis.set_minor_formatter(NullFormatter())


def slowdown(axes: Axes, flows: Mapping[str, polars.DataFrame], colours: Mapping[str, str]) -> None:
    """Slowdown by size: medians filled, 99th percentiles hollow."""
    rows = {name: by_size(every) for name, every in flows.items()}
    met = {(low, high) for ranges in rows.values() for low, high, _ in ranges}
    largest = 2.0
    names = [size_name(*each) for each in pairwise((0.0, *SIZES)) if each in met]
    for place, (name, ranges) in enumerate(rows.items()):
        own: dict[str, Any] = {"color": colours[name], "marker": MARKERS[place % len(MARKERS)]}
        for low, high, chosen in ranges:
            at = names.index(size_name(low, high)) + (place - (len(rows) - 1) / 2) * 0.12
            values = [quantile(chosen["slowdown"], share) for share in (0.5, 0.99)]
            largest = max(largest, *values)
            axes.plot([at, at], values, color=colours[name], linewidth=1)
            axes.plot(at, values[0], markersize=5, **own)
            axes.plot(at, values[1], markersize=5, markerfacecolor="white", **own)
    axes.set(xlabel="Flow size", ylabel="Slowdown over an idle network", yscale="log")
    axes.set_title("Slowdown of flows that were delivered", fontsize=9)
    axes.set_xticks(range(len(names)), map(in_two_lines, names))
    axes.set_xlim(-0.6, len(names) - 0.4)
    plain(axes, "y")
    axes.set_ylim(0.9, 1.3 * largest)
    few_ticks(axes.yaxis, largest)
    grey: dict[str, Any] = {"color": GREY, "linestyle": "none", "marker": "o", "markersize": 5}
    axes.plot([], [], label="median", **grey)
    axes.plot([], [], label="99th percentile", markerfacecolor="white", **grey)


def in_two_lines(size: str) -> str:
    """Breaks a range of sizes before its unit, or between two units."""
    low, dash, high = size.partition("–")  # noqa: RUF001
    return f"{low}{dash}\n{high}" if " " in low and dash else "\n".join(size.rsplit(" ", 1))


def throughput(axes: Axes, runs: Mapping[str, Sequence[Sequence[float]]], looks: Looks) -> None:
    """Goodput of flows without end by rank: the mean over seeds, and what they lie between.

    Of one flow there is no rank: it is a bar.
    """
    axes.set_title("Long-lived flows", fontsize=9)
    axes.set_ylabel("Goodput (Gb/s)")
    longest = max(len(seed) for seeds in runs.values() for seed in seeds)
    if longest == 1:
        means = {
            name: fmean(rate for seed in seeds for rate in seed) for name, seeds in runs.items()
        }
        axes.bar(
            list(map(label_of, means)),
            list(means.values()),
            0.6,
            color=[looks[name]["color"] for name in means],
        )
        axes.set_xlabel("Transport or scheme")
        axes.grid(visible=False, axis="x")
        return
    for name, seeds in runs.items():
        several = [seed for seed in seeds if seed]
        # A mean by rank needs as many flows in every seed.
        if len(set(map(len, several))) == 1:
            rank(axes, several, band=len(several) > 1, **looks[name])
        else:
            for seed in several:
                axes.plot(seed, linewidth=0.6, **looks[name])
    axes.set(xlabel="Flow, by rank of goodput", ylim=(0, None), xlim=(0, longest - 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))
