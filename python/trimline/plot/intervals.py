"""Changes from one series to another over the seeds of both, and how they are drawn: a dot a mean.

A change is taken seed by seed, since a seed gives both series the same traffic. A dot is the mean
over the seeds, a line its 95 % interval; a single seed has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from trimline.files import MalformedResult
from trimline.means import Measure
from trimline.plot.lines import of_series
from trimline.plot.results import Experiment, Run

#: A minus as wide as the plus.
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Change:
    """The change of a number from one series to another, a mean over the seeds of both."""

    #: In percent, or as the binary logarithm of the quotient.
    measure: Measure
    seeds: int
    #: The number itself, mean over the same seeds: before and after.
    before: float
    after: float


def runs_of(experiment: Experiment, name: str) -> list[Run]:
    """The runs of a series. A whole result must have it; of a part it may be empty."""
    if experiment.tier == "full":
        return of_series(experiment, name)
    return experiment.series().get(name, [])


def pairs(
    runs: Sequence[Run], base: Sequence[Run], value: Callable[[Run], float]
) -> list[tuple[float, float]]:
    """A number of the base and of the series for each seed that both have."""
    own, baseline = ({run.seed: run for run in each} for each in (runs, base))
    if len(own) != len(runs) or len(baseline) != len(base):
        raise MalformedResult(f"series {runs[0].series!r}: more than one run of a seed")
    both = sorted(own.keys() & baseline.keys())
    if not both:
        raise MalformedResult(
            f"series {runs[0].series!r} and {base[0].series!r} have no seed in common"
        )
    found = [(value(baseline[seed]), value(own[seed])) for seed in both]
    if any(before <= 0 for before, _ in found):
        raise MalformedResult(f"series {base[0].series!r}: nothing that a change could be of")
    return found


def change_of(
    found: Sequence[tuple[float, float]], change: Callable[[float, float], float]
) -> Change:
    """The change over the seeds."""
    measure = Measure.of([change(before, after) for before, after in found])
    if measure is None:
        raise MalformedResult("no seed")
    befores, afters = zip(*found, strict=True)
    return Change(measure, len(found), fmean(befores), fmean(afters))


def percent(runs: Sequence[Run], base: Sequence[Run], value: Callable[[Run], float]) -> Change:
    """Returns by how many percent a number exceeds the base's."""
    return change_of(pairs(runs, base, value), lambda before, after: 100 * (after / before - 1))


def doublings(runs: Sequence[Run], base: Sequence[Run], value: Callable[[Run], float]) -> Change:
    """The number of doublings from the base's number: the binary logarithm of the quotient."""
    found = pairs(runs, base, value)
    if any(after <= 0 for _, after in found):
        raise MalformedResult(f"series {runs[0].series!r}: nothing that has a quotient")
    return change_of(found, lambda before, after: math.log2(after / before))


def seeds_words(counts: Sequence[int]) -> str:
    """Over how many seeds means are."""
    smallest, largest = min(counts), max(counts)
    if smallest != largest:
        return f"{smallest} to {largest} seeds, lines: 95 % intervals"
    return "1 seed, no intervals" if largest == 1 else f"{largest} seeds, lines: 95 % intervals"


def signed(measure: Measure) -> str:
    """A change in percent, with its interval."""
    half = measure.half_width
    # Enough digits that neither is nothing.
    digits = 2 if abs(measure.mean) < 1 or (half is not None and half < 0.1) else 1
    text = f"{measure.mean:+.{digits}f}".replace("-", MINUS)
    return text if half is None else f"{text} ± {half:.{digits}f}"


def dot(
    axes: Axes,
    found: tuple[float, float | None, float | None],
    y: float,
    colour: str,
    marker: str = "o",
    *,
    filled: bool = True,
) -> None:
    """A mean and its interval, if it has one: mean, least, most."""
    mean, smallest, largest = found
    if smallest is not None and largest is not None:
        axes.plot([smallest, largest], [y, y], color=colour, linewidth=2.4, alpha=0.55)
        for end in (smallest, largest):
            axes.plot(end, y, marker="|", color=colour, markersize=7, markeredgewidth=1.2)
    face = colour if filled else "white"
    axes.plot(
        mean, y, marker=marker, color=colour, markersize=5, markerfacecolor=face, linestyle="none"
    )


def ends(measure: Measure) -> tuple[float, float | None, float | None]:
    """The mean of a measure and the ends of its interval."""
    half = measure.half_width
    return (
        measure.mean,
        None if half is None else measure.mean - half,
        None if half is None else measure.mean + half,
    )


#: Coordinates of words, and how far they stand from their place, in points.
BESIDE = {"xycoords": ("axes fraction", "data"), "xytext": (7, 0), "va": "center"}
ABOVE = {"xycoords": ("data", "axes fraction"), "xytext": (0, 2), "ha": "center"}


def beside(axes: Axes, y: float, words: str, colour: str) -> None:
    """Words at the right of the axes, in the row of their dot: no line goes through them."""
    write(axes, (1.0, y), words, colour, BESIDE)


def above(axes: Axes, x: float, words: str, colour: str) -> None:
    """Words on top of a line upwards."""
    write(axes, (x, 1.0), words, colour, ABOVE)


def write(
    axes: Axes, at: tuple[float, float], words: str, colour: str, where: Mapping[str, Any]
) -> None:
    """Small words outside the axes."""
    axes.annotate(
        words,
        at,
        **where,
        textcoords="offset points",
        fontsize=7,
        color=colour,
        annotation_clip=False,
    )


def rows_at(axes: Axes, words: Sequence[str]) -> None:
    """A row for each of the words, downwards."""
    axes.set_yticks(range(len(words)), words)
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
