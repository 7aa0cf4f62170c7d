"""The change of the 99th percentile by OPF over fan-in, interval and marked packets."""

import numpy

from trimline import plot
from trimline.swept import order

LIKE = plot.load(__file__, "opf/fig06")


def figure(experiment):
    without = {tuple(run.point.items()): run for run in experiment["ndp"]}
    cells = {
        (run.point["marked"], run.point["every"], run.point["senders"]): gain(
            without[tuple(run.point.items())], run
        )
        for run in experiment["ndp-opf"]
    }
    marks, intervals, senders = (
        sorted({cell[place] for cell in cells}, key=order) for place in range(3)
    )
    title = "Where OPF gains: Hadoop's sizes over 30 % of random traffic"
    size = (3.6 * len(marks), 3.4)
    figure, row = plot.panels(1, len(marks), size, title, squeeze=False)
    for axes, marked in zip(row[0], marks, strict=True):
        grid = [[cells.get((marked, every, n), numpy.nan) for n in senders] for every in intervals]
        image = plot.heat(axes, grid, cmap="RdBu_r", vmin=-50, vmax=50)
        for (y, x), value in numpy.ndenumerate(grid):
            look = {"fontsize": 8, "color": "white" if abs(value) > 35 else plot.BLACK}
            axes.text(x, y, f"{value:+.0f} %", ha="center", va="center", **look)
        axes.set_xticks(range(len(senders)), senders)
        axes.set_yticks(range(len(intervals)), intervals)
        plot.label(axes, "Senders of an incast", "", f"{marked} packets marked")
    row[0][0].set_ylabel("Interval of incasts")
    words = "p99 below 100 KB, OPF over NDP (%)"
    figure.colorbar(image, ax=row, label=words)
    return figure


def gain(without, with_it):
    """Returns by how many percent the 99th percentile of short flows is longer."""
    before, after = (numpy.quantile(LIKE.short_us(run), 0.99) for run in (without, with_it))
    return 100 * (after / before - 1)
