"""Changes from one series to another over the seeds of both, and how they are drawn: a dot a mean.

A change is taken seed by seed, since a seed gives both series the same traffic. A dot is the mean
over the seeds, a line its 95 % interval; a single seed has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from trimline.files import MalformedResult
from trimline.means import Measure
from trimline.plot.experiment import Run

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

    @staticmethod
    def of(
        runs: Sequence[Run],
        base: Sequence[Run],
        value: Callable[[Run], float],
        change: Callable[[float, float], float],
    ) -> Change:
        """Returns the change of a number over the seeds that the series and the base have."""
        own, baseline = ({run.seed: run for run in each} for each in (runs, base))
        if len(own) != len(runs) or len(baseline) != len(base):
            raise MalformedResult(f"series {runs[0].series!r}: more than one run of a seed")
        both = sorted(own.keys() & baseline.keys())
        if not both:
            raise MalformedResult(
                f"series {runs[0].series!r} and {base[0].series!r} have no seed in common"
            )
        befores, afters = ([value(each[seed]) for seed in both] for each in (baseline, own))
        if min(befores) <= 0:
            raise MalformedResult(f"series {base[0].series!r}: nothing that a change could be of")
        measure = Measure.of(list(map(change, befores, afters)))
        assert measure is not None
        return Change(measure, len(both), fmean(befores), fmean(afters))


def percent(runs: Sequence[Run], base: Sequence[Run], value: Callable[[Run], float]) -> Change:
    """Returns by how many percent a number exceeds the base's."""
    return Change.of(runs, base, value, lambda before, after: 100 * (after / before - 1))


def doublings(runs: Sequence[Run], base: Sequence[Run], value: Callable[[Run], float]) -> Change:
    """Returns the doublings from the base's number: the binary logarithm of the quotient."""

    def change(before: float, after: float) -> float:
        if after <= 0:
            raise MalformedResult(f"series {runs[0].series!r}: nothing that has a quotient")
        return math.log2(after / before)

    return Change.of(runs, base, value, change)


def seeds_words(counts: Sequence[int]) -> str:
    """Says over how many seeds means are."""
    smallest, largest = min(counts), max(counts)
    if smallest != largest:
        return f"{smallest} to {largest} seeds, lines: 95 % intervals"
    return "1 seed, no intervals" if largest == 1 else f"{largest} seeds, lines: 95 % intervals"


def signed(measure: Measure) -> str:
    """Returns a change in percent with its interval, in words."""
    half = measure.half_width
    # Enough digits that neither is nothing.
    digits = 2 if abs(measure.mean) < 1 or (half is not None and half < 0.1) else 1
    text = f"{measure.mean:+.{digits}f}".replace("-", MINUS)
    return text if half is None else f"{text} ± {half:.{digits}f}"


def ends(measure: Measure) -> tuple[float, ...]:
    """Returns the mean of a measure, and the ends of its interval if it has one."""
    mean, half = measure.mean, measure.half_width
    return (mean,) if half is None else (mean, mean - half, mean + half)


def dot(
    axes: Axes,
    found: Sequence[float],
    y: float,
    colour: str,
    marker: str = "o",
    *,
    filled: bool = True,
) -> None:
    """Draws a mean and, if it has one, its interval: mean, min, max."""
    mean, *interval = found
    if interval:
        axes.plot(interval, [y, y], color=colour, linewidth=2.4, alpha=0.55)
        for end in interval:
            axes.plot(end, y, marker="|", color=colour, markersize=7, markeredgewidth=1.2)
    face = colour if filled else "white"
    axes.plot(
        mean, y, marker=marker, color=colour, markersize=5, markerfacecolor=face, linestyle="none"
    )


#: Small words outside the axes, in points from their place.
OUTSIDE: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": 7,
    "annotation_clip": False,
}


def beside(axes: Axes, y: float, words: str, colour: str) -> None:
    """Writes words at the right of the axes, in the row of their dot."""
    where: Any = {"xycoords": ("axes fraction", "data"), "xytext": (7, 0), "va": "center"}
    axes.annotate(words, (1.0, y), color=colour, **where, **OUTSIDE)


def above(axes: Axes, x: float, words: str, colour: str) -> None:
    """Writes words on top of a line upwards."""
    where: Any = {"xycoords": ("data", "axes fraction"), "xytext": (0, 2), "ha": "center"}
    axes.annotate(words, (x, 1.0), color=colour, **where, **OUTSIDE)


def rows_at(axes: Axes, words: Sequence[str]) -> None:
    """Makes a row for each of the words, downwards."""
    axes.set_yticks(range(len(words)), words)
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
