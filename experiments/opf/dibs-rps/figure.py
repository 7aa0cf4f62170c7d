"""DIBS, random packet spraying and OPF as settings of one mechanism: the tail and the ways."""

from statistics import fmean

import numpy

from trimline import plot

SERIES = ("ndp", "opf", "opf-unlimited", "dibs-2", "dibs", "rps", "switch-random")


def figure(experiment):
    short_us = plot.load(__file__, "opf/fig06").short_us
    title = "DIBS and random packet spraying as settings of one mechanism"
    figure, (times, ways) = plot.panels(1, 2, (9.6, 3.8), title)
    shown = {name: experiment[name] for name in SERIES if name in experiment.series}
    for place, runs in enumerate(shown.values()):
        tails = [numpy.quantile(short_us(run), 0.99) for run in runs]
        times.barh(place, fmean(tails), color=plot.BLUE)
        times.plot(tails, [place] * len(tails), "|", color=plot.BLACK, label="a seed")
        ways.barh(place, fmean(run.number("paths", "mean_links") for run in runs), color=plot.GREEN)
        longest = max(run.number("paths", "max_links") for run in runs)
        ways.annotate(f"longest {longest:.0f}", (0.1, place), fontsize=7, va="center")
    times.set(xlabel="99th percentile of the FCT below 100 KB (µs)")
    ways.set(xlabel="Links of a packet, mean")
    for axes in (times, ways):
        axes.set_yticks(range(len(shown)), shown)
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
    return figure
