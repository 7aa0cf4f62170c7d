"""The figure of a comparison: FCT CDFs and slowdown by flow size, one line a transport."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trimline.comparison import by_size, quantile, size_name
from trimline.plot import style
from trimline.results import MalformedResult, Result, Results

#: So many points of a CDF are seen.
POINTS = 2000

#: Beside the colour of its protocol, a series has a line of its own.
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = "osD^vX"


def write(results: Results, folder: Path) -> list[Path]:
    """Draws a comparison; gives the files written."""
    with pyplot.rc_context(style.SETTINGS):
        return style.write(draw(results), folder, "compare")


def draw(results: Results) -> Figure:
    """CDFs on the left, slowdown by size on the right: medians filled, 99th percentiles hollow."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
    names: dict[str, int] = {}
    for place, (series, runs) in enumerate(results.series().items()):
        flows = polars.concat([ended(run) for run in runs])
        if not len(flows):
            continue
        colour = style.PALETTE[place % len(style.PALETTE)]
        line = LINES[place % len(LINES)]
        name = style.name_of(series) if style.protocol_of(series) else series or "scenario"
        fct = flows["fct_us"].sort()
        step = max(len(fct) // POINTS, 1)
        shares = [(rank + 1) / len(fct) for rank in range(0, len(fct), step)]
        left.plot(fct.gather_every(step), shares, color=colour, linestyle=line, label=name)
        for low, high, chosen in by_size(flows):
            at = names.setdefault(size_name(low, high), len(names)) + (place - 2) * 0.08
            values = [quantile(chosen["slowdown"], share) for share in (0.5, 0.99)]
            marker = MARKERS[place % len(MARKERS)]
            right.plot([at, at], values, color=colour, linestyle=line, linewidth=1)
            right.plot(at, values[0], marker=marker, color=colour, markersize=5)
            right.plot(
                at, values[1], marker=marker, color=colour, markersize=5, markerfacecolor="white"
            )
    if not names:
        raise MalformedResult(f"{results.folder}: no flow of a size ended; nothing to draw")
    left.set(xlabel="Flow completion time (µs)", ylabel="Share of flows", xscale="log", ylim=(0, 1))
    left.legend(loc="lower right")
    right.set(xlabel="Flow size", ylabel="Slowdown over an idle network", yscale="log")
    right.set_xticks(list(names.values()), list(names))
    right.yaxis.set_major_formatter("{x:g}")
    top = right.get_ylim()[1]
    right.set_ylim(0.95, 10 ** math.ceil(math.log10(max(top, 2))))
    grey: dict[str, Any] = {
        "color": style.GREY,
        "linestyle": "none",
        "marker": "o",
        "markersize": 5,
    }
    right.legend(
        handles=[
            Line2D([], [], label="median", **grey),
            Line2D([], [], label="99th percentile", markerfacecolor="white", **grey),
        ],
        loc="upper left",
    )
    return figure


def ended(run: Result) -> polars.DataFrame:
    """Flows that were delivered: size, FCT, slowdown."""
    fct = (polars.col("fct_receiver_ps") / 1e6).alias("fct_us")
    flows = run.scan().select("size_bytes", "slowdown", fct)
    return flows.filter(polars.col("fct_us").is_not_null()).collect(engine="streaming")
