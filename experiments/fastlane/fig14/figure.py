"""The time that FastLane saves, by the parallelism of servers."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
SCHEMES = (("fl-ps", "tcp", "TCP"), ("pfabric-fl", "pfabric", "pFabric"))
CORES = (8, 16, 64)


def figure(experiment):
    title = "60 % utilisation, half of it short"
    figure, row = plot.panels(1, 2, (8.0, 4.2), title, sharey=True)
    for axes, (scheme, base, words) in zip(row, SCHEMES, strict=True):
        # A part of the series may have no place, and nothing has no logarithm.
        if LIKE.draw_changes(axes, experiment, scheme, base):
            axes.set_xscale("log", base=2)
            plot.plain(axes, "x")
        axes.set_title(words, fontsize=9)
    LIKE.label(row, "Packets that a server processes at a time", CORES)
    row[0].set_ylim(-100, 40)
    return figure
