"""Goodput and waits of long flows into one port by their number, a line a scheme."""

from statistics import fmean

import polars

from trimline import plot
from trimline.means import quantile

SCHEMES = {
    "tcp": ("TCP", plot.VERMILION),
    "tcp-64k-window": ("TCP, windows of 64 KB", plot.ORANGE),
    "dctcp-30k": ("DCTCP, marks above 30 KB", plot.PURPLE),
    "dctcp-6k-pacer": ("DCTCP, marks above 6 KB, pacer", plot.GREEN),
    "pq950-pacer": ("phantom queue of 950 Mb/s, pacer", plot.BLUE),
    "pq950": ("phantom queue of 950 Mb/s", plot.BLACK),
}


def figure(experiment):
    figure, (left, right) = plot.panels(1, 2, (8.6, 4.6), "Long flows into one port of 1 Gb/s")
    for runs, look in plot.each(experiment, SCHEMES):
        draw(left, right, plot.by(runs, "senders"), **look)
    label(left, right, "Long flows", log="y")
    return figure


def label(goodputs, waits, xlabel, **more):
    plot.label(goodputs, xlabel, "Goodput (Mb/s)", ylim=(0, 1000))
    plot.label(waits, xlabel, "Wait at the port (µs)", **more)
    waits.set_title("solid: mean; dashed: 99th percentile", fontsize=8)


def draw(goodputs, waits, places, label, color):
    """Draws a line of goodput, and two of what probes waited."""
    plot.line(goodputs, places, goodput_mbps, color=color, marker=".", label=label)
    plot.line(waits, places, mean_wait_us, color=color, marker=".", label=label)
    plot.line(waits, places, lambda run: quantile(waits_us(run), 0.99), color=color, linestyle="--")


def goodput_mbps(run):
    return 1e3 * sum(run.goodputs_gbps("flows"))


def mean_wait_us(run, workload="probe"):
    return fmean(waits_us(run, workload))


def waits_us(run, workload="probe"):
    """Returns how long each packet of a workload waited beyond the ideal, in us."""
    wait = (polars.col("fct_receiver_ps") - polars.col("ideal_fct_ps")) / 1e6
    waits = run.of_workload(workload).select(wait.alias("us")).drop_nulls()["us"]
    if not len(waits):
        raise plot.MalformedResult(f"{run.folder}: no {workload} arrived")
    return waits
