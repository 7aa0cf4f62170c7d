"""Helpers that the curves of a report share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimline.looks import PALETTE

#: Points of one curve: more are not seen on a screen.
POINTS = 600


def by_place(names: Sequence[str]) -> list[dict[str, Any]]:
    """Curves that are no groups of runs."""
    return [
        {"name": name, "colour": PALETTE[place % len(PALETTE)], "dash": place}
        for place, name in enumerate(names)
    ]


def spread(count: int, largest: int = POINTS) -> list[int]:
    """At most `largest` places of `count`, first and last among them."""
    if count <= largest:
        return list(range(count))
    return sorted({round(place * (count - 1) / (largest - 1)) for place in range(largest)})


def rounded(value: float | None) -> float | None:
    """Five significant digits: more are not seen, and they take room."""
    return None if value is None else float(f"{value:.5g}")
