"""The distribution of the time from a first sending of a packet to its ACK.

The first seed of each work, beside two numbers of the paper.
"""

from trimline import plot

SERIES = {
    "permutation": ("permutation, IW 30", plot.BLUE),
    "permutation-15": ("permutation, IW 15", plot.BLUE, ":"),
    "random": ("random, IW 30", plot.GREEN),
    "random-15": ("random, IW 15", plot.GREEN, ":"),
    "incast-135KB": ("incast of 100 x 135 KB", plot.VERMILION, "--"),
    "incast-1350KB": ("incast of 100 x 1350 KB", plot.PURPLE, "-."),
}


def figure(experiment):
    figure, axes = plot.panels(size=(6.0, 4.4))
    for runs, look in plot.each(experiment, SERIES):
        rows = runs[0].table("latencies").filter(packets="all")
        axes.plot(rows["latency_ps"] / 1e6, rows["share_permille"] / 10, **look)
    look = {"color": plot.BLACK, "linestyle": "none"}
    words = "paper: median of the\nfirst four around 100 µs"
    axes.plot(100, 50, marker="x", label=words, **look)
    words = "paper: last packet of\nthe 135 KB, 11,055 µs"
    axes.plot(11_055, 100, marker="+", label=words, clip_on=False, **look)
    title = plot.simulated("Time that packets take on 432 hosts, NDP", experiment.runs)
    words = ("First sending to ACK at the sender (µs)", "Packets (%)", title)
    plot.label(axes, *words, log="x", ylim=(0, 101))
    return figure
