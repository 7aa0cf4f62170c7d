"""Goodput of a permutation by the number of hosts that also send to one host of it."""

from statistics import fmean

from trimline import plot

SERIES = plot.load(__file__, "ndp/fig16").SERIES


def figure(experiment):
    title = "A long-lived incast beside a permutation, 432 hosts"
    figure, axes = plot.panels(size=(7.0, 4.8), title=title)

    def percent(run):
        return run.link_percent(fmean(run.goodputs_gbps("permutation")))

    for runs, look in plot.each(experiment, SERIES, counted=True):
        plot.line(axes, plot.by(runs, "senders"), percent, marker="o", **look)
    # The paper has one number for each protocol, whatever the senders.
    papers = {
        finding.name.split()[0].strip(":").lower(): finding.paper
        for finding in experiment.findings
        if finding.paper is not None
    }
    for protocol, paper in papers.items():
        label, colour = f"{plot.NAMES[protocol]}, paper", plot.PROTOCOLS[protocol]
        axes.axhline(paper, color=colour, linewidth=0.9, linestyle="--", label=label)
    words = f"Permutation: goodput (% of {experiment.runs[0].host_link.gbps:g} Gb/s)"
    plot.label(axes, "Senders of the incast", words, ylim=(0, 100))
    return figure
