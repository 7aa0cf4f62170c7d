"""Goodput and waits of two flows by the drain of a phantom queue."""

from trimline import plot

LIKE = plot.load(__file__, "hull/fig08")
SERIES = {
    "dctcp": ("DCTCP", plot.PROTOCOLS["dctcp"]),
    "tcp-ecn": ("TCP with ECN", plot.PROTOCOLS["tcp"]),
}


def figure(experiment):
    title = "Two long flows over a phantom queue of 6 KB"
    figure, (left, right) = plot.panels(1, 2, (8.6, 4.2), title)
    for prefix, (words, colour) in SERIES.items():
        if places := experiment.numbered(prefix):
            LIKE.draw(left, right, places, words, colour)
    link = experiment.runs[0].host_link
    drains = [700.0, 950.0]
    full = [drain * link.full_gbps / link.gbps for drain in drains]
    left.plot(drains, full, color=plot.GREY, linestyle=":", label="the drain")
    LIKE.label(left, right, "Drain (Mb/s)", ylim=(0, None))
    return figure
