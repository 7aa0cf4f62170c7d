"""The testbed: FCT with FastLane over TCP's and over TCP-A's, by load, and table 1."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
#: Table 1: by how many percent FastLane's times are less than TCP-A's, by load and size.
TABLE1 = {
    20: (51, 61, 68, 63, -4),
    40: (55, 63, 64, 55, 46),
    60: (44, 53, 58, 51, 40),
    80: (32, 42, 48, 40, 22),
}


def figure(experiment):
    title = "TCP with FastLane, 16 hosts at 1 Gb/s, a tenth of the load short"
    figure, row = plot.panels(1, 2, (9.0, 4.4), title, sharey=True)
    for axes, base in zip(row, ("tcp", "tcp-a"), strict=True):
        LIKE.draw_changes(axes, experiment, "fl", base)
        axes.set_title(f"over {base.upper()}", fontsize=9)
    for load_percent, less in TABLE1.items():
        for colour, percent in zip(LIKE.SIZES.values(), less, strict=True):
            row[1].plot(load_percent, -percent, "x", color=colour, markersize=5)
    row[1].plot([], [], "x", color=plot.BLACK, markersize=5, label="paper, p99.9")
    LIKE.label(row, "Utilisation (%)", LIKE.LOADS)
    return figure
