"""Goodput of a long flow beside an incast to its neighbour, over time."""

import polars

from trimline import plot

#: From the top.
SERIES = {
    "dctcp": ("DCTCP", plot.PROTOCOLS["dctcp"]),
    "dcqcn": ("DCQCN", plot.PROTOCOLS["dcqcn"]),
    "dcqcn-window": ("DCTCP's window over PFC", "#882255"),
    "dcqcn-window-htsim": ("htsim's window over PFC", "#332288"),
    "ndp": ("NDP", plot.PROTOCOLS["ndp"]),
}
#: The long flow's link, and when the incast begins.
PORT, INCAST_MS = "tor 0 down 1", 20.0
#: Throughput is shown over intervals of this length.
INTERVAL_MS = 0.5


def figure(experiment):
    there = experiment.series
    names = [name for name in SERIES if name in there or name in ("dctcp", "ndp")]
    sizes = [size for size in ("", "-450KB") if f"ndp{size}" in there or not size]
    figure, grid = plot.panels(
        len(names),
        len(sizes),
        (2.0 + 4.0 * len(sizes), 1.2 + 1.7 * len(names)),
        "A long flow beside an incast to its neighbour",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for name, row in zip(names, grid, strict=True):
        words, colour = SERIES[name]
        for size, axes in zip(sizes, row, strict=True):
            runs = experiment[name + size]
            for run in runs:
                axes.plot(*rates(run), color=colour, linewidth=0.9, alpha=0.6)
            largest = runs[0].flows["size_bytes"].max()
            each = f" {largest // 1000} KB each" if largest else ""
            plot.marked_at(axes, INCAST_MS, f"64 hosts send{each} to the neighbour", 0.9)
            rate = runs[0].host_link.gbps
            plot.marked(axes, rate, "full link", right=True)
            axes.set(ylim=(0, 1.25 * rate), title=f"{words}, simulated")
        row[0].set_ylabel("Goodput (Gb/s)")
    for axes in grid[-1]:
        axes.set_xlabel("Time (ms)")
    return figure


def rates(run):
    """Returns the rate of the long flow's whole data packets: times in ms, Gb/s on the wire."""
    sent = run.timeline.filter(event="depart", packet="data", place=PORT, workload="long")
    if not len(sent):
        raise plot.MalformedResult(f"{run.folder}: nothing left at {PORT}")
    interval = (polars.col("time_ps") / 1e9 / INTERVAL_MS).cast(polars.Int64)
    bits = 8 * polars.col("wire_bytes").sum()
    found = dict(sent.group_by(interval.alias("interval")).agg(bits).iter_rows())
    # The last interval is not over.
    places = range(min(found), max(found))
    times = [(each + 0.5) * INTERVAL_MS for each in places]
    return times, [found.get(each, 0) / INTERVAL_MS / 1e6 for each in places]
