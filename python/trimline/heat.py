"""The heat map of a report: the fullest queue of each layer, and of each chosen pod, over time."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise

import polars

from trimline.curves import rounded
from trimline.drawings import WIDTH, colour
from trimline.results import Result

#: Columns and rows: more are narrower than a screen's points.
MAX_COLUMNS, MAX_ROWS = 120, 128

#: Of a row and of the names before it, in the units of the drawing.
HEIGHT, NAMES = 14, 150


def queues(run: Result) -> str:
    """The fullest port of each layer over time; empty where nothing waited."""
    samples = run.queues.filter(~polars.col("layer").cast(polars.String).str.starts_with("host"))
    fullest = max(samples["queue_bytes_max"].to_list(), default=0)
    if fullest <= 0:
        return ""
    layers = [str(each) for each in samples["layer"].unique(maintain_order=True)]
    # Pods by their numbers, below the layers of all pods.
    layers.sort(key=pod)
    columns = binned(samples, min(MAX_COLUMNS, samples["time_ps"].n_unique()))
    rows = [
        row(place, layer, columns.get(layer, []), float(fullest))
        for place, layer in enumerate(layers[:MAX_ROWS])
    ]
    ends = times(samples)
    height = HEIGHT * (len(rows) + 2)
    axis = "".join(
        f'<text x="{x}" y="{height - 8}" text-anchor="{anchor}">{words}</text>'
        for x, anchor, words in (
            (NAMES, "start", f"{ends[0]:g} µs"),
            (WIDTH, "end", f"{ends[1]:g} µs"),
        )
    )
    more = len(layers) - MAX_ROWS
    note = f'<p class="note">The first {MAX_ROWS} of {len(layers)} rows.</p>' if more > 0 else ""
    drawing = (
        f'<svg class="heat" viewBox="0 0 {WIDTH} {height}" font-size="11" '
        f'role="img" aria-label="Queues over time">{"".join(rows)}{axis}</svg>'
    )
    return f'<div class="wide">{drawing}</div>{scale(float(fullest))}{note}'


def pod(layer: str) -> int:
    """The number of a pod; all pods come before."""
    words = layer.split(" ")
    return int(words[1]) if words[0] == "pod" and words[1].isdigit() else -1


def times(samples: polars.DataFrame) -> tuple[float, float]:
    """First and last sample, in microseconds."""
    places = samples["time_ps"].to_list()
    return rounded(min(places) / 1e6) or 0.0, rounded(max(places) / 1e6) or 0.0


def binned(samples: polars.DataFrame, count: int) -> dict[str, list[float]]:
    """The fullest port of each layer in each of `count` equal parts of the samples."""
    found: dict[str, list[float]] = {}
    for key, rows in samples.group_by("layer", maintain_order=True):
        values = rows.sort("time_ps")["queue_bytes_max"].to_list()
        edges = [round(place * len(values) / count) for place in range(count + 1)]
        found[str(key[0])] = [max(values[low:high], default=0) for low, high in pairwise(edges)]
    return found


def row(place: int, layer: str, values: Sequence[float], fullest: float) -> str:
    """A row of cells; neighbours of one colour are one cell."""
    y, width = HEIGHT * place, (WIDTH - NAMES) / max(len(values), 1)
    cells = []
    first = 0
    for end in range(1, len(values) + 1):
        same = end < len(values) and shade(values[end], fullest) == shade(values[first], fullest)
        if same:
            continue
        largest = max(values[first:end])
        cells.append(
            f'<rect x="{NAMES + first * width:.1f}" y="{y}" width="{(end - first) * width:.1f}" '
            f'height="{HEIGHT - 1}" fill="{shade(values[first], fullest)}">'
            f"<title>{rounded(largest / 1e3):g} KB, {html.escape(layer)}</title></rect>"
        )
        first = end
    name = f'<text x="{NAMES - 6}" y="{y + 11}" text-anchor="end">{html.escape(layer)}</text>'
    return name + "".join(cells)


def shade(queue: float, fullest: float) -> str:
    """The colour of a queue, in steps of a twentieth of the fullest; white where nothing waits."""
    return "#ffffff" if queue <= 0 else colour(max(1, round(20 * queue / fullest)) / 20)


def scale(fullest: float) -> str:
    """The legend of the colours."""
    stops = ", ".join(f"{colour(share)} {share:.0%}" for share in (0.05, 0.5, 0.9, 1.0))
    bar = f'<span style="background: linear-gradient(to right, {stops})"></span>'
    return f'<div class="scale">0 KB{bar}{rounded(fullest / 1e3):g} KB</div>'
