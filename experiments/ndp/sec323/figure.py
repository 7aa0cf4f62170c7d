"""Packets trimmed on the way up, by tier: the sender permutes paths, or switches draw them."""

from statistics import fmean

import polars

from trimline import plot

#: Series: words, and how the finding about it ends.
SERIES = {
    "sender-permuted": ("permuted by\nsenders, IW 30", "permuted by the sender"),
    "switch-random": ("drawn by\nswitches, IW 30", "chosen by the switches"),
    "sender-permuted-15": ("permuted by\nsenders, IW 15", "permuted by the sender, window 15"),
    "switch-random-15": ("drawn by\nswitches, IW 15", "chosen by the switches, window 15"),
}
UPLINKS = "trimmed on uplinks, paths "
TIERS = (
    ("all uplinks", ("tor", "aggregation"), plot.GREY),
    ("ToR to aggregation", ("tor",), plot.SKY),
    ("aggregation to core", ("aggregation",), plot.BLUE),
)
WIDTH = 0.26


def figure(experiment):
    title = "Packets trimmed on the way up, permutation on 128 hosts, by who chose paths"
    figure, axes = plot.panels(size=(6.4, 4.2), title=title)
    shown = {name: experiment[name] for name in SERIES if name in experiment.series}
    if not shown:
        raise plot.MalformedResult(f"{experiment.folder}: no series that it shows")
    first = next(iter(shown.values()))
    series = [
        (
            plot.simulated(words, first),
            [fmean(trimmed_up(run, tiers) for run in runs) for runs in shown.values()],
            colour,
        )
        for words, tiers, colour in TIERS
    ]
    # Above the line of the paper, where it crosses a label.
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    words = {"fmt": "%.2g", "fontsize": 7, "padding": 2, "bbox": box, "zorder": 5}
    ticks = [SERIES[name][0] for name in shown]
    plot.bars(axes, ticks, series, width=WIDTH, gap=0.08 * WIDTH, labels=words)
    paper = {each.name.removeprefix(UPLINKS): each.paper for each in experiment.findings}
    label = "paper"
    for number, name in enumerate(shown):
        if (value := paper.get(SERIES[name][1])) is not None:
            edges = [number - 1.5 * WIDTH, number + 1.5 * WIDTH]
            axes.plot(edges, [value] * 2, color=plot.BLACK, linestyle="--", label=label)
            label = None
    plot.label(axes, "Paths", "Trimmed (% of packets sent)", log="y", ylim=(0.001, 30))
    return figure


def trimmed_up(run, tiers):
    """Returns the packets trimmed at ports of these tiers that lead up, in % of those sent."""
    ports = run.table("ports").filter(polars.col("name").str.contains(" up "))
    of_tier = polars.col("name").str.split(" ").list.first().is_in(tiers)
    return 100 * ports.filter(of_tier)["trimmed"].sum() / run.number("packets_sent")
