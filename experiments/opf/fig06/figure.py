"""FCT of short flows: NDP with and without OPF."""

import numpy
import polars

from trimline import plot

#: Flows below this many bytes are the short ones of every figure.
SHORT = 100_000
WORKLOADS = {"web": "Web", "hadoop": "Hadoop", "hadoop-spread": "Hadoop, first choice"}


def figure(experiment):
    title = "Incasts of 216 into a pod over random traffic of 30 %, 432 hosts"
    return by_workload(experiment, WORKLOADS, "NDP", title)


def by_workload(experiment, workloads, scheme, title):
    """Draws the share of short flows that took longer than a time, with OPF and without."""
    shown = {base: words for base, words in workloads.items() if base in experiment.series}
    size = (4.6 * len(shown), 4.0)
    figure, grid = plot.panels(1, len(shown), size, title, squeeze=False)
    schemes = {
        "": (scheme, plot.PROTOCOLS[scheme.lower()]),
        "-opf": (f"{scheme} with OPF", plot.PROTOCOLS["opf"]),
    }
    for axes, (base, words) in zip(grid[0], shown.items(), strict=True):
        for ending, (label, colour) in schemes.items():
            runs = experiment[base + ending]
            draw(axes, runs, None, color=colour, label=label)
            draw(axes, runs, "incast", color=colour, linestyle=":", label=f"{label}, incasts alone")
        plot.label(
            axes, "FCT (µs)", "Share of flows below 100 KB that took longer", words, log="xy"
        )
        axes.set_ylim(1e-4, 1.1)
        axes.axhline(0.01, color=plot.GREY, linewidth=0.8, linestyle="--")
    return figure


def draw(axes, runs, workload, **look):
    """Draws the share that took longer, thinned where there are very many, but not at the tail."""
    values = numpy.sort(numpy.concatenate([short_us(run, workload) for run in runs]))
    kept = numpy.unique(numpy.geomspace(1, len(values), 2000).astype(int))
    axes.plot(values[len(values) - kept], kept / len(values), **look)


def short_us(run, workload=None):
    flows = run.of_workload(workload).filter(polars.col("size_bytes") < SHORT)
    return (flows["fct_receiver_ps"].drop_nulls() / 1e6).to_numpy()
