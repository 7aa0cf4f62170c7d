"""Goodput of a permutation by payload, and the same with headers counted."""

from statistics import fmean

from trimline import plot

#: Series without their payloads: words, colour, line. The quick tier has the last one alone.
SERIES = {
    "ndp": ("NDP, authors' queues", plot.BLUE, "-"),
    "ndp-paper": ("NDP, paper's queues", plot.SKY, "-"),
    "window": ("NDP, window in bytes", plot.BLUE, "--"),
    "pulls": ("NDP, separate PULLs", plot.BLUE, ":"),
    "queue": ("NDP, queues in bytes", plot.BLUE, "-."),
    "mptcp": ("MPTCP", plot.PROTOCOLS["mptcp"], "-"),
    "dctcp": ("DCTCP", plot.PROTOCOLS["dctcp"], "-"),
    "dcqcn": ("DCQCN, authors'", plot.PROTOCOLS["dcqcn"], "-"),
    "small": ("NDP, 16 hosts", plot.GREY, "-"),
}


def figure(experiment):
    shown = {name: found for name in SERIES if (found := experiment.numbered(name))}
    if len(shown) > 1:
        shown.pop("small", None)
    title = "A permutation by payload: every host sends to one and receives from one"
    figure, row = plot.panels(1, 2, (9.6, 4.2), title, sharey=True)
    for axes, value in zip(row, (goodput, with_headers), strict=True):
        for name, places in shown.items():
            label, colour, dashes = SERIES[name]
            look = {"color": colour, "linestyle": dashes, "marker": "."}
            plot.line(axes, places, value, label=label, **look)
        plot.label(axes, "Payload of a packet (B)", log="x", ylim=(0, 11))
    row[0].set_title("Goodput", loc="left")
    row[1].set_title("The same with the headers of data", loc="left")
    row[0].set_ylabel("Mean of the flows (Gb/s)")
    plot.marked(row[1], experiment.runs[0].host_link.gbps, "link")
    return figure


def goodput(run):
    return fmean(run.goodputs_gbps())


def with_headers(run):
    payload = float(run.series.rpartition("-")[2])
    return goodput(run) * (payload + run.host_link.header_bytes) / payload
