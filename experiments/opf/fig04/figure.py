"""FCT of all flows: no detours, two at most, any number."""

from trimline import plot

WORKLOADS = {"hadoop": "Hadoop", "web": "Web"}
ENDINGS = {
    "": ("Homa", plot.PROTOCOLS["homa"]),
    "-opf-2": ("limit 2", plot.PROTOCOLS["opf"], "--"),
    "-opf-unlimited": ("no limit", plot.VERMILION, ":"),
}


def figure(experiment):
    shown = {base: words for base, words in WORKLOADS.items() if base in experiment.series}
    title = "Homa on 14 hosts at 100 Mb/s, detours limited and not"
    size = (4.6 * len(shown), 4.0)
    figure, grid = plot.panels(1, len(shown), size, title, squeeze=False)
    for axes, (base, words) in zip(grid[0], shown.items(), strict=True):
        series = {base + ending: look for ending, look in ENDINGS.items()}
        for runs, look in plot.each(experiment, series):
            us = [1e3 * time for run in runs for time in run.fct_ms()]
            plot.cdf(axes, us, longer=True, **look)
        plot.label(axes, "FCT (µs)", "Share of flows that took longer", words, log="xy")
        axes.set_ylim(1e-3, 1.1)
    return figure
