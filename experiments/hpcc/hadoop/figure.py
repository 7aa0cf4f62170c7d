"""Slowdown of HPCC and DCQCN by size of flow, with two settings of the switches."""

from trimline import plot

LOOKS = {"hpcc": ("HPCC", plot.BLUE), "dcqcn": ("DCQCN", plot.VERMILION)}
SIZES = {10: "10 B", 1e3: "1 KB", 1e5: "100 KB", 1e7: "10 MB"}
PANELS = {"": "DCQCN's ramp of its authors", "-simulator": "Settings of HPCC's simulator"}


def figure(experiment):
    title = "FB_Hadoop at 50 % (solid: median; dashed: 99th percentile)"
    figure, grid = plot.panels(1, 2, (7.4, 4.0), title, sharey=True, squeeze=False)
    for axes, (suffix, words) in zip(grid[0], PANELS.items(), strict=True):
        series = {name + suffix: look for name, look in LOOKS.items()}
        for runs, look in plot.each(experiment, series):
            plot.slowdowns(axes, runs[0], **look)
        plot.label(axes, "Size", title=words, log="xy")
        axes.set_xticks(list(SIZES), list(SIZES.values()))
    grid[0][0].set_ylabel("Slowdown at the receiver")
    return figure
