"""Long flows: mean FCT with FastLane over TCP's and over TCP-A's, ours and the paper's."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
#: By how many percent FastLane's mean times are less, by load: 1, 16 and 64 MB.
PAPER = {
    "tcp": {20: (-4, -4, -4), 40: (10, 7, 8), 60: (28, 26, 26), 80: (29, 30, 28)},
    "tcp-a": {20: (6, 3, 2), 40: (14, 12, 11), 60: (21, 23, 23), 80: (25, 29, 31)},
}
#: Sizes in MB.
SIZES = {1: plot.BLUE, 16: plot.GREEN, 64: plot.VERMILION}


def figure(experiment):
    title = "TCP with FastLane, long flows, 16 hosts at 1 Gb/s"
    figure, row = plot.panels(1, 2, (8.8, 4.2), title, sharey=True)
    paper = {"linewidth": 0.8, "markersize": 5}
    for axes, (base, less) in zip(row, PAPER.items(), strict=True):
        for place, (size, colour) in enumerate(SIZES.items()):
            found = LIKE.changes(experiment, "fl", base, lambda run, size=size: mean(run, size))
            axes.plot(*found, color=colour, marker=".", label=f"{size} MB, simulated")
            axes.plot(
                [*less], [-each[place] for each in less.values()], "x--", color=colour, **paper
            )
        axes.plot([], [], "x--", color=plot.BLACK, label="paper", **paper)
        axes.axhline(0, color=plot.GREY, linewidth=0.8)
        axes.set_title(f"over {base.upper()}", fontsize=9)
    LIKE.label(row, "Utilisation (%)", LIKE.LOADS)
    row[0].set_ylabel("Mean completion time over that without FastLane (%)")
    return figure


def mean(run, size):
    sizes = {"from": size * 1_000_000, "below": size * 1_000_000 + 1}
    return run.answer(quantity="fct", size_bytes=sizes, reduce="mean")
