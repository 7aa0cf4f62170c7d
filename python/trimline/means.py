"""Means over seeds with their intervals, quantiles, and numbers as people read them.

Figures need these where the compiled module is not: nothing here asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import polars

#: 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom. For more, `STUDENT_FROM` has
#: pairs of minimum and quantile: the largest minimum in reach counts, so no interval is too narrow.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179),
    *(2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064),
    *(2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
STUDENT_FROM = ((1000, 1.962), (120, 1.980), (60, 2.000), (40, 2.021), (31, 2.042))


def student(freedom: int) -> float:
    """The quantile, as the program has it."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    return next(value for smallest, value in STUDENT_FROM if freedom >= smallest)


@dataclass(frozen=True)
class Measure:
    """One number: its mean over seeds, and half of its 95 % interval."""

    mean: float
    half_width: float | None
    #: Seeds that have this number, and all seeds; None if all have it.
    missing: tuple[int, int] | None = None

    @staticmethod
    def of(values: Sequence[float | None]) -> Measure | None:
        """The mean of one value a seed; no interval of a single seed."""
        found = [value for value in values if value is not None]
        if not found:
            return None
        missing = None if len(found) == len(values) else (len(found), len(values))
        if len(found) == 1:
            return Measure(found[0], None, missing)
        half_width = student(len(found) - 1) * stdev(found) / math.sqrt(len(found))
        return Measure(fmean(found), half_width, missing)

    def __str__(self) -> str:
        text = short(self.mean)
        if self.half_width is not None:
            text += f" ± {short(self.half_width)}"
        return text if self.missing is None else "{} ({} of {} seeds)".format(text, *self.missing)


def quantile(values: polars.Series, share: float) -> float:
    """By nearest rank, as everywhere in Trimline."""
    rank = max(math.ceil(share * len(values)), 1)
    return float(values.sort()[rank - 1])


def short(value: float) -> str:
    """Three significant digits, whole numbers whole."""
    if value == int(value):
        return f"{value:.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{max(2 - math.floor(math.log10(abs(value))), 0)}f}"
