"""Waits and goodput by number of flows, with packets of 1500 and of 300 B."""

from trimline import plot

LIKE = plot.load(__file__, "hull/fig08")
SERIES = {
    "mtu-1500": ("packets of 1500 B", plot.VERMILION),
    "mtu-300": ("packets of 300 B", plot.BLUE),
}


def figure(experiment):
    title = "More flows over a phantom queue of 800 Mb/s and 1 KB, pacers"
    figure, (left, right) = plot.panels(1, 2, (8.6, 4.2), title)
    for runs, look in plot.each(experiment, SERIES):
        LIKE.draw(right, left, plot.by(runs, "senders"), **look)
    LIKE.label(right, left, "Long flows", ylim=(0, None))
    return figure
