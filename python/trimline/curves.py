"""Helpers that the parts of a report share."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import polars

from trimline.looks import PALETTE

#: Values by time in ps, of each part: a layer, a flow or a port.
Parts = dict[str, dict[int, float]]

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


def by_part(rows: polars.DataFrame, part: str, value: str, scale: float) -> Parts:
    """A column over time, of each part that the rows name."""
    found: Parts = {}
    named = rows.select(polars.col(part).cast(polars.String), "time_ps", value).drop_nulls()
    for name, time, number in named.iter_rows():
        found.setdefault(name, {})[time] = number * scale
    return found


def rounded(value: float | None) -> float | None:
    """Five significant digits: more are not seen, and they take room."""
    return None if value is None else float(f"{value:.5g}")


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with these names above its columns."""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{cells(names, "th")}</tr>{body}</table></div>'


def cells(row: Sequence[object], tag: str) -> str:
    """A row of a table."""
    return "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row)
