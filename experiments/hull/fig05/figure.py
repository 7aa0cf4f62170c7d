"""Goodput and waits by the drain of a phantom queue: with pacers and without."""

from trimline import plot

LIKE = plot.load(__file__, "hull/fig08")
#: Of thresholds, from small to large.
COLOURS = (plot.BLUE, plot.SKY, plot.GREEN, plot.ORANGE, plot.VERMILION, plot.PURPLE)
SERIES = {
    "paced": "with pacers",
    "unpaced": "without",
    "paced-bursts": "with pacers, bursty hosts",
    "unpaced-bursts": "without, bursty hosts",
}


def figure(experiment):
    title = "Two long flows of DCTCP over a phantom queue; below: mean, dashed 99th percentile"
    figure, grid = plot.panels(2, 4, (13.6, 7.2), title, sharex=True, sharey="row")
    for (name, words), (above, below) in zip(SERIES.items(), grid.T, strict=True):
        thresholds = plot.by(experiment.get(name), "threshold")
        for (threshold, runs), colour in zip(thresholds.items(), COLOURS, strict=False):
            LIKE.draw(
                above, below, plot.by(runs, "drain_rate"), f"threshold {threshold:g} KB", colour
            )
        above.set_title(words)
        plot.label(below, "Drain (Mb/s)", log="y")
    grid[0][0].set_ylabel("Goodput (Mb/s)")
    grid[1][0].set_ylabel("Wait at the port (µs)")
    return figure
