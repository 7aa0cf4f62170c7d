"""Plots that any results can have: lines over a sweep, distributions, ranks, bars, heat maps.

Each draws on axes and takes matplotlib's words (`color`, `linestyle`, `label`) as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy
import polars
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from trimline.files import MalformedResult
from trimline.looks import GREY
from trimline.means import Measure, quantile
from trimline.plot.experiment import Experiment, Run
from trimline.plot.finish import ACCEPTED, INTERVAL, SEEDS
from trimline.plot.style import Drawing

#: Runs by their place on an axis.
Places = Mapping[float, Sequence[Run]]

#: The words of a line's look, in the order of a table of series.
LOOK = ("label", "color", "linestyle")

#: What hides grids and dotted lines behind words; data are drawn over both.
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}

#: A name at the end of a line: its distance from the next one, and the largest from its line, as
#: shares of the axes' height.
GAP, MAX_SHIFT = 0.055, 0.1

#: Ranges of sizes in which flows are put together, for a factor of ten.
RANGES_A_DECADE = 4


def panels(
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] | None = None,
    title: str = "",
    **more: Any,
) -> tuple[Drawing, Any]:
    """Makes a figure with a title, and its axes as `Figure.subplots` does."""
    figure = Drawing(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, **more)
    if title:
        figure.suptitle(title, wrap=True)
    return figure, axes


def label(
    axes: Axes, x: str = "", y: str = "", title: str = "", *, log: str = "", **limits: Any
) -> None:
    """Labels axes, makes those in `log` (x, y) logarithmic, and sets limits."""
    logarithmic(axes, log)
    axes.set(xlabel=x, ylabel=y, title=title, **limits)


def logarithmic(axes: Axes, which: str) -> None:
    """Makes the axes in `which` (x, y) logarithmic, with plain numbers."""
    for each in which:
        axes.set(**{f"{each}scale": "log"})
    plain(axes, which)


def plain(axes: Axes, which: str) -> None:
    """Writes numbers without powers of ten at the axes in `which` (x, y)."""
    for each in which:
        getattr(axes, f"{each}axis").set_major_formatter("{x:.10g}")


def seeds(runs: Sequence[Run]) -> str:
    """Returns the number of seeds of a mean, in words."""
    count = len({run.seed for run in runs})
    return "1 seed" if count == 1 else f"{count} seeds"


def simulated(name: str, runs: Sequence[Run]) -> str:
    """Returns a name for a legend that also has published numbers."""
    return f"{name}, simulated ({seeds(runs)})"


def each(
    experiment: Experiment, series: Mapping[str, Sequence[str]], *, counted: bool = False
) -> Iterator[tuple[list[Run], dict[str, Any]]]:
    """Yields the runs of the series that exist, each with its look: words, colour, perhaps a line.

    With `counted` the legend says that a series is simulated, and the number of seeds.
    """
    for name, (words, colour, *dashes) in series.items():
        if runs := experiment.get(name):
            label = simulated(words, runs) if counted else words
            yield runs, dict(zip(LOOK, (label, colour, *dashes), strict=False))


def by(runs: Sequence[Run], key: str | Callable[[Run], float]) -> dict[float, list[Run]]:
    """Groups runs by the place of a swept key, or by a number of a run, ascending."""
    found: dict[float, list[Run]] = {}
    for run in runs:
        found.setdefault(run.place(key) if isinstance(key, str) else key(run), []).append(run)
    return dict(sorted(found.items()))


def line(
    axes: Axes, places: Places, value: Callable[[Run], float], *, band: bool = False, **look: Any
) -> tuple[list[float], list[float]]:
    """Draws a value at each place, the mean over seeds; `band` adds a band of all seeds.

    Returns places and means.
    """
    each = [[value(run) for run in runs] for runs in places.values()]
    means = [fmean(values) for values in each]
    if places:
        axes.plot(list(places), means, **look)
        if band:
            of_all_seeds(axes, list(places), each, look["color"])
    return list(places), means


def of_all_seeds(
    axes: Axes, places: Sequence[float], values: Sequence[Sequence[float]], colour: str
) -> None:
    """Draws a band from the smallest to the largest value at each place, and names it."""
    if max(map(len, values), default=0) > 1:
        look: Any = {"alpha": 0.2, "linewidth": 0}
        low, high = ([side(each) for each in values] for side in (min, max))
        axes.fill_between(places, low, high, color=colour, **look)
        axes.fill_between([], [], color=GREY, label=SEEDS, **look)


def line_with_intervals(
    axes: Axes, places: Places, value: Callable[[Run], float | None], **look: Any
) -> None:
    """Draws a value at each place that has one: the mean over seeds, and its 95 % interval."""
    found = {place: Measure.of([value(run) for run in runs]) for place, runs in places.items()}
    known = {place: each for place, each in found.items() if each is not None}
    halves = [each.half_width or 0.0 for each in known.values()]
    means = [each.mean for each in known.values()]
    if known:
        (drawn,) = axes.plot(list(known), means, **look)
        if any(halves):
            bars: Any = {"fmt": "none", "capsize": 2, "elinewidth": 0.9}
            axes.errorbar(list(known), means, halves, ecolor=drawn.get_color(), **bars)
            axes.errorbar([], [], [], ecolor=GREY, label=INTERVAL, **bars)


def cdf(
    axes: Axes, values: Any, of: int | None = None, *, longer: bool = False, **look: Any
) -> None:
    """Draws the share of `of` values that are no larger, in steps, or the share that are larger."""
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    if longer:
        axes.plot(ordered, 1 - numpy.arange(len(ordered)) / (of or len(ordered)), **look)
    else:
        shares = numpy.arange(len(ordered) + 1) / (of or len(ordered))
        axes.step(
            [*ordered[:1], *ordered],
            shares[: len(ordered) + len(ordered[:1])],
            where="post",
            **look,
        )


def fct_cdf(
    axes: Axes, runs: Sequence[Run], workload: str | None, scale_ps: float, **look: Any
) -> None:
    """Draws the share of the flows of a workload, or of all, that took no longer."""
    times = [run.of_workload(workload)["fct_receiver_ps"] for run in runs]
    ended = [time for each in times for time in each.drop_nulls() / scale_ps]
    if not ended:
        raise MalformedResult(f"{runs[0].folder}: no flow ended")
    cdf(axes, ended, sum(map(len, times)), **look)


def rank(
    axes: Axes, of_seeds: Sequence[Sequence[float]], *, band: bool = False, **look: Any
) -> list[float]:
    """Draws values by their rank: the mean over seeds; `band` adds a band of all seeds.

    Returns the means.
    """
    ranked = [sorted(values) for values in of_seeds]
    if len(set(map(len, ranked))) != 1:
        raise MalformedResult(
            f"{look.get('label', 'ranks')}: seeds differ in their number of flows"
        )
    by_rank = list(zip(*ranked, strict=True))
    means = [fmean(at_rank) for at_rank in by_rank]
    if band:
        of_all_seeds(axes, range(len(means)), by_rank, look["color"])
    axes.plot(means, **look)
    return means


def published(axes: Axes, experiment: Experiment, columns: Mapping[str, Sequence[str]]) -> None:
    """Draws columns of the authors' numbers by rank, dashed: words, colour, perhaps a line."""
    for name, (words, colour, *dashes) in columns.items():
        if values := experiment.reference.get(name):
            look: Any = {
                "color": colour,
                "linewidth": 1.2,
                "linestyle": dashes[0] if dashes else "--",
            }
            axes.plot(values, label=f"{words}, authors' htsim", **look)


def by_rank(axes: Axes, largest: float) -> None:
    """Labels axes of goodputs by rank."""
    words = ("Flow, by rank of throughput", "Goodput (Gb/s)")
    label(axes, *words, ylim=(0, largest), xlim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))


def slowdowns(axes: Axes, run: Run, **look: Any) -> None:
    """Draws slowdown at the receiver by flow size: the median, and dashed the 99th percentile."""
    flows = run.flows.filter(polars.col("size_bytes") > 0)
    slow = polars.col("fct_receiver_ps") / polars.col("ideal_fct_ps")
    flows = flows.select("size_bytes", slowdown=slow).drop_nulls()
    found: dict[float, polars.Series] = {}
    low, high, largest = 0.0, 1.0, max(flows["size_bytes"], default=0)
    while low < largest:
        chosen = flows.filter(polars.col("size_bytes").is_between(low, high, closed="right"))
        if len(chosen):
            found[high] = chosen["slowdown"]
        low, high = high, high * 10 ** (1 / RANGES_A_DECADE)
    ends = list(found)
    medians: Any = [each.median() for each in found.values()]
    axes.plot(ends, medians, marker=".", **look)
    look.pop("label", None)
    axes.plot(ends, [quantile(each, 0.99) for each in found.values()], linestyle="--", **look)


def bars(
    axes: Axes,
    ticks: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None], str]],
    *,
    width: float,
    gap: float = 0.0,
    labels: Mapping[str, Any] | None = None,
    **look: Any,
) -> None:
    """Draws a group of bars at each tick: name, value at each tick and colour of each series.

    A bar and the gap beside it are `width` wide; a series without values has no place. `labels`
    are the words of `Axes.bar_label`.
    """
    series = [each for each in series if any(value is not None for value in each[1])]
    for number, (name, values, colour) in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * width
        there = [(at + shift, value) for at, value in enumerate(values) if value is not None]
        drawn = axes.bar(
            [at for at, _ in there],
            [value for _, value in there],
            width - gap,
            color=colour,
            label=name,
            **look,
        )
        if labels is not None:
            axes.bar_label(drawn, **labels)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.grid(axis="x", visible=False)


def heat(axes: Axes, grid: Any, **look: Any) -> AxesImage:
    """Draws a heat map, its first row at the bottom."""
    axes.grid(visible=False)
    return axes.imshow(grid, origin="lower", aspect="auto", **look)


def marked(axes: Axes, y: float, words: str, *, right: bool = False) -> None:
    """Draws a dotted line across the figure at a value that the paper or the model names."""
    axes.axhline(y, color=GREY, linewidth=0.8, linestyle=":", zorder=1.5)
    axes.annotate(
        words,
        (0.99 if right else 0.01, y),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right" if right else "left",
        color=GREY,
        fontsize=7,
        bbox=PAPER,
        zorder=1.6,
    )


def marked_at(axes: Axes, x: float, words: str, height: float = 0.02) -> None:
    """Draws a dotted line upwards at a place that the paper names, with words."""
    axes.axvline(x, color=GREY, linewidth=0.8, linestyle=":", zorder=1.5)
    axes.annotate(
        words,
        (x, height),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        color=GREY,
        fontsize=7,
        bbox=PAPER,
        zorder=1.6,
    )


def accepted(axes: Axes, x: float, low: float, high: float, width: float) -> None:
    """Draws the range in which a finding holds as an open box, unlike an interval."""
    box = Rectangle((x - width / 2, low), width, high - low, fill=False, linewidth=1, zorder=3)
    axes.add_patch(box)
    box.set_label(ACCEPTED)


def named_at_ends(*every: Axes) -> None:
    """Writes the names of lines at their ends, if none is far from its line; else in the legend.

    The limits and scales of the axes are set before.
    """
    ends = {axes: ends_of(axes) for axes in every}
    places = {axes: spaced([height for height, _ in found]) for axes, found in ends.items()}
    for axes, found in ends.items():
        shifts = [abs(at - end) for at, (end, _) in zip(places[axes], found, strict=True)]
        if max(shifts, default=0) > MAX_SHIFT:
            return
    for axes, found in ends.items():
        for at, (height, line) in zip(places[axes], found, strict=True):
            name_at(axes, line, height, at)
            line.set_label("_")


def ends_of(axes: Axes) -> list[tuple[float, Line2D]]:
    """Returns the named lines of axes, upwards, each with the height of its end."""
    share = axes.transData + axes.transAxes.inverted()
    found = []
    for line in axes.get_lines():
        if not str(line.get_label()).startswith("_") and line.get_linestyle() != "None":
            xs, ys = (numpy.asarray(each) for each in line.get_data())
            found.append((float(share.transform((xs[-1], ys[-1]))[1]), line))
    return sorted(found, key=lambda end: end[0])


def spaced(heights: Sequence[float]) -> list[float]:
    """Returns places for names, each near its ascending height and a gap from the next one."""
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and first_of(groups[-1]) < first_of(groups[-2]) + GAP * len(
            groups[-2]
        ):
            last = groups.pop()
            groups[-1] += last
    return [first_of(group) + GAP * number for group in groups for number in range(len(group))]


def first_of(group: Sequence[float]) -> float:
    """Returns the place of the lowest of names that stand together, within the axes."""
    middle = fmean(group) - GAP * (len(group) - 1) / 2
    return min(max(middle, 0.0), 1.0 - GAP * (len(group) - 1))


def name_at(axes: Axes, line: Line2D, height: float, at: float) -> None:
    """Writes the name of a line at the right of the axes, with a stroke to its end."""
    axes.annotate(
        str(line.get_label()),
        (1.0, height),
        xycoords="axes fraction",
        xytext=(1.04, at),
        textcoords="axes fraction",
        va="center",
        fontsize=7,
        color=line.get_color(),
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": line.get_color(),
            "linewidth": 0.5,
            # To the first letter: a line to the middle would cross other words.
            "relpos": (0.0, 0.5),
            "shrinkA": 0,
        },
    )
