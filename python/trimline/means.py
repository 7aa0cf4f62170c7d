"""Means over seeds with their intervals, quantiles, and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars

from trimline import _core


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
        missing = None if len(found) == len(values) else (len(found), len(values))
        interval = _core.interval(found)
        return None if interval is None else Measure(*interval, missing)

    def __str__(self) -> str:
        text = short(self.mean)
        half = self.half_width
        if half is not None and (half or self.mean):
            text += f" ± {self.width(half)}"
        return text if self.missing is None else "{} ({} of {} seeds)".format(text, *self.missing)

    def width(self, half: float) -> str:
        """Half of an interval, with no more decimals than the mean; zero is 0."""
        digits = min(decimals(half), decimals(self.mean)) if self.mean else decimals(half)
        text = f"{half:.{digits}f}"
        return text if float(text) and half != int(half) else f"{half:.0f}"


def quantile(values: polars.Series, share: float) -> float:
    """By nearest rank, as everywhere in Trimline."""
    rank = max(math.ceil(share * len(values)), 1)
    return float(values.sort()[rank - 1])


def short(value: float) -> str:
    """Three significant digits, whole numbers whole."""
    return f"{value:.{0 if value == int(value) else decimals(value)}f}"


def decimals(value: float) -> int:
    """Decimals of three significant digits; none of 0."""
    return max(2 - math.floor(math.log10(abs(value))), 0) if value else 0
