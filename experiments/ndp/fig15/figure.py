"""FCT of 90 KB beside long flows: the distribution of each protocol over all seeds."""

from trimline import plot

SERIES = plot.load(__file__, "ndp/fig16").SERIES


def figure(experiment):
    title = "90 KB beside four long flows from every other host, 432 hosts"
    figure, axes = plot.panels(size=(6.4, 4.6), title=title)
    for runs, look in plot.each(experiment, SERIES, counted=True):
        plot.fct_cdf(axes, runs, "short", 1e6, **look)
    ideals = [run.of_workload("short")["ideal_fct_ps"].max() for run in experiment.runs]
    if any(ideals):
        plot.marked_at(axes, max(filter(None, ideals)) / 1e6, "idle network", height=0.9)
    words = ("Flow completion time (µs)", "Share of transfers")
    plot.label(axes, *words, log="x", ylim=(0, 1.02))
    return figure
