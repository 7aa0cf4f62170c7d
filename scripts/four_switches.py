#!/usr/bin/env python3
"""Draws examples/four-switches.toml: what an incast does to a queue, and to a flow beside it, by what switches do.

    target/release/trimline run examples/four-switches.toml
    .venv/bin/python scripts/four_switches.py out/examples/four-switches docs/figures

It writes incast-four-ways.png and .pdf into the second folder. The same results give the same bytes.
"""

import sys
from pathlib import Path

import polars
from matplotlib import pyplot

from trimline import plot
from trimline.plot import style
from trimline.results import Results

#: Series: what the switch does, and the scheme.
WAYS = {"tcp": "Drop (TCP)", "dctcp": "Mark (DCTCP)", "ndp": "Trim (NDP)", "dcqcn": "Pause (DCQCN)"}
#: The ports to the incast's receiver and to the host beside it; their rate, and when the incast begins.
INCAST, BESIDE, GBPS, START_MS = "tor 0 down 0", "tor 0 down 1", 100, 1.0


def figure(runs):
    title = "64 hosts send 256 KB each to one host at 100 Gb/s"
    figure, grid = plot.panels(2, len(WAYS), (11.0, 4.8), title, sharex=True, sharey="row")
    for (series, words), (queue, rate) in zip(WAYS.items(), grid.T, strict=True):
        (run,) = (run for run in runs if run.series == series)
        colour = plot.PROTOCOLS[series]
        rows = run.port_series.with_columns(ms=polars.col("time_ps") / 1e9 - START_MS)
        to_receiver, beside = (rows.filter(name=name) for name in (INCAST, BESIDE))
        queue.plot(to_receiver["ms"], to_receiver["queue_bytes"] / 1e3, color=colour)
        rate.plot(beside["ms"], GBPS * beside["utilisation"], color=colour)
        flows = polars.read_csv(run.folder / "flows.csv").filter(workload="incast")
        last = flows["fct_receiver_ps"].max() / 1e9
        for axes in (queue, rate):
            axes.axvline(last, color=plot.GREY, linewidth=0.9, linestyle="--")
        left = last > 3
        place = {"xytext": (-4 if left else 4, -10), "textcoords": "offset points"}
        where = {"xycoords": ("data", "axes fraction"), "ha": "right" if left else "left"}
        done = f"last flow done\nafter {last:.1f} ms"
        queue.annotate(done, (last, 0.95), va="top", fontsize=8, **place, **where)
        queue.set_title(words)
        rate.set_xlabel("Time since the incast began (ms)", fontsize=8)
    grid[0][0].set_ylabel("Queue to the receiver (KB)")
    grid[1][0].set_ylabel("Flow to its neighbour (Gb/s)")
    grid[0][0].set_xlim(-0.5, 6.8)
    for axes in grid[:, 0]:
        axes.set_ylim(0, None)
    return figure


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    results, folder = map(Path, arguments)
    with pyplot.rc_context(style.SETTINGS):
        for path in style.write(figure(Results.read(results).runs), folder, "incast-four-ways"):
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
