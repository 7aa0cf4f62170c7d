"""Schemes on the same works at two rates. As a program it prints their numbers as a table:

.venv/bin/python experiments/beyond/same-work-100g/figure.py out/beyond/same-work-100g
"""

import math
import sys
from collections import namedtuple
from pathlib import Path

import polars
from matplotlib.ticker import LogLocator, NullFormatter

from trimline import plot
from trimline.means import Measure, quantile
from trimline.plot.intervals import dot, ends

#: Series, its title, the first number with its words, and the second: a workload, sizes from and
#: below, and the share of the flows that have ended by then.
WORKS = {
    "incast": ("64 send to one", ("median", 0, math.inf, 0.5), ("last", 0, math.inf, 1.0)),
    "permutation": ("Permutation", ("median", 0, math.inf, 0.5), ("last", 0, math.inf, 1.0)),
    "slow-link": ("A slow link", ("median", 0, math.inf, 0.5), ("last", 0, math.inf, 1.0)),
    "dead-link": ("A dead link", ("median", 0, math.inf, 0.5), ("last", 0, math.inf, 1.0)),
    "all-to-all": ("All to all", ("median", 0, math.inf, 0.5), ("last", 0, math.inf, 1.0)),
    "web-search": (
        "Web search, core 60 % busy",
        ("below 10 KB, 99 %", 0, 1e4, 0.99),
        ("from 1 MB, 99 %", 1e6, math.inf, 0.99),
    ),
    "bystander": (
        "A flow beside an incast",
        ("20 MB", 2e7, math.inf, 1.0),
        ("450 KB, last", 0, 2e7, 1.0),
    ),
}
RATES = {"100Gbps": ("100 Gb/s", "o", plot.BLUE), "400Gbps": ("400 Gb/s", "s", plot.VERMILION)}
#: Of a work, a rate and a scheme: both slowdowns, drops in percent, the largest queue of a switch.
Row = namedtuple("Row", "work rate scheme first second dropped")


def rows(experiment):
    """Returns each scheme on each work at each rate, in the order of the works."""
    found = []
    for work, (_, first, second) in WORKS.items():
        for series, runs in experiment.series.items():
            if not series.startswith(f"{work}-"):
                continue
            for rate in RATES:
                at = [run for run in runs if run.point.get("rate") == rate]
                if at:
                    numbers = (
                        Measure.of([slowdown(run, *of) for run in at]) for of in (first, second)
                    )
                    drops = [100 * run.number("ports", "dropped") for run in at]
                    sent = [max(run.number("packets_sent"), 1) for run in at]
                    dropped = Measure.of([a / b for a, b in zip(drops, sent, strict=True)])
                    found.append(
                        Row(work, rate, series.removeprefix(f"{work}-"), *numbers, dropped)
                    )
    if not found:
        raise plot.MalformedResult(f"{experiment.folder}: no run of a work")
    return found


def slowdown(run, _, smallest, below, share):
    """Returns the completion time over the ideal that a share of the flows of these sizes has."""
    size = polars.col("size_bytes")
    flows = run.flows.filter((size >= smallest) & (size < below))
    if not len(flows):
        raise plot.MalformedResult(f"{run.folder}: no flow from {smallest:g} to {below:g} B")
    values = (flows["fct_receiver_ps"] / flows["ideal_fct_ps"]).fill_null(math.inf)
    value = quantile(values, share)
    return value if math.isfinite(value) else None


def table(every):
    head = ["work", "rate", "scheme", "first slowdown", "second slowdown", "dropped (%)"]
    lines = [head, ["---"] * len(head)]
    for one in every:
        _, *numbers = WORKS[one.work]
        cells = [
            f"{words}: {'not ended' if value is None else value}"
            for (words, *_), value in zip(numbers, (one.first, one.second), strict=True)
        ]
        name = plot.NAMES.get(one.scheme, one.scheme)
        lines.append([one.work, RATES[one.rate][0], name, *cells, str(one.dropped)])
    return "".join(f"| {' | '.join(each)} |\n" for each in lines).replace("| --- ", "|---")


def figure(experiment):
    every = rows(experiment)
    works = [work for work in WORKS if any(one.work == work for one in every)]
    names = list(dict.fromkeys(one.scheme for one in every))
    across = min(4, len(works))
    down = -(-len(works) // across)
    size = (3.1 * across + 1.2, 0.8 + down * (0.9 + 0.27 * len(names)))
    title = "Slowdown of flows for every scheme, on the same work"
    figure, grid = plot.panels(down, across, size, title, squeeze=False)
    for work, axes in zip(works, grid.flat, strict=False):
        title, *numbers = WORKS[work]
        for one in (one for one in every if one.work == work):
            _, marker, colour = RATES[one.rate]
            y = names.index(one.scheme) + (0.17 if marker == "s" else -0.17)
            for value, filled in ((one.first, True), (one.second, False)):
                if value is not None:
                    dot(axes, ends(value), y, colour, marker, filled=filled)
        words = "; ".join(
            f"{mark}: {one[0]}" for mark, one in zip("\u25cf\u25cb", numbers, strict=True)
        )
        axes.set_title(f"{title}\n{words}", fontsize=8)
        is_first = works.index(work) % across == 0
        ticks = [plot.NAMES.get(name, name) if is_first else "" for name in names]
        axes.set_yticks(range(len(names)), ticks)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set(xscale="log", xlabel="FCT over the ideal")
        # An interval may reach below what can be.
        smallest, largest = axes.get_xlim()
        axes.set_xlim(smallest := max(smallest, 0.8), largest)
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if largest < 50 * smallest else (1,))
        )
        plot.plain(axes, "x")
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axes in grid.flat[len(works) :]:
        axes.set_visible(False)
    for words, marker, colour in RATES.values():
        look = {"marker": marker, "color": colour, "linestyle": "none", "markersize": 5}
        grid[0][0].plot([], [], label=words, **look)
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        name = "beyond/same-work-100g"
        print(table(rows(plot.Experiment.read(Path(sys.argv[1]), name))), end="")
    except plot.MalformedResult as error:
        sys.exit(f"error: {error}")
