"""FCT of web traffic at two loads: the distribution of each protocol over all seeds."""

from trimline import plot

SERIES = plot.load(__file__, "ndp/fig16").SERIES


def figure(experiment):
    loads = sorted(plot.by(experiment.runs, "flows"))
    title = "Facebook's web traffic, 512 hosts, 4:1 oversubscribed"
    figure, grid = plot.panels(1, len(loads), (7.2, 3.8), title, sharey=True, squeeze=False)
    for axes, load in zip(grid[0], loads, strict=True):
        for runs, look in plot.each(experiment, SERIES, counted=True):
            if own := plot.by(runs, "flows").get(load):
                plot.fct_cdf(axes, own, None, 1e9, **look)
        words = ("Flow completion time (ms)", "", f"{load:g} connections a host")
        plot.label(axes, *words, log="x", ylim=(0, 1.02))
    grid[0][0].set_ylabel("Share of flows")
    return figure
