"""The shares of NDP and TCP in one link, for every mixture of flows: the mean over seeds."""

from statistics import fmean

from trimline import plot

#: It is about the flows' ends, not about shares.
LEFT_OUT = "incast-to-its-end"
LAST = "one-queue"


def figure(experiment):
    figure, axes = plot.panels()
    names = [name for name in experiment.series if name not in (LEFT_OUT, LAST)]
    shown = {name: experiment[name] for name in [*names, LAST] if experiment.get(name)}
    first = next(iter(shown.values()))
    series = [
        (
            plot.simulated(plot.NAMES[kind], first),
            [fmean(share(run, kind) for run in runs) for runs in shown.values()],
            plot.PROTOCOLS[kind],
        )
        for kind in ("ndp", "tcp")
    ]
    ticks = [name.replace("-", "\n", 3) for name in shown]
    plot.bars(axes, ticks, series, width=0.4, gap=0.02, labels={"fmt": "%.0f", "fontsize": 7})
    axes.axhline(50, color=plot.GREY, linewidth=0.8, linestyle=":")
    axes.tick_params(axis="x", labelsize=7)
    title = "NDP and TCP into one port, each in a queue of its own but the last"
    plot.label(axes, "", "Goodput of all flows (% of the link)", title, ylim=(0, 115))
    return figure


def share(run, workload):
    """Returns the goodput of all flows of a workload, in percent of the link."""
    return run.link_percent(sum(run.goodputs_gbps(workload)))
