"""The effect of interrupt coalescing, beside the paper's numbers."""

from trimline import plot

#: Series: words, and what the paper measured: load in percent, KB an ACK, Gb/s.
SERIES = {
    "adaptive": ("adaptive", (37.2, 41.3, 9.5)),
    "128": ("128", (30.7, 64.0, 9.5)),
    "32": ("32", (53.2, 16.5, 9.5)),
    "8": ("8", (75.0, 12.2, 9.5)),
    "2": ("2", (98.7, 11.4, 9.3)),
    "0": ("0", (99.0, 67.4, 7.7)),
    "128-alone": ("128\n(no time)", (30.7, 64.0, 9.5)),
    "32-alone": ("32\n(no time)", (53.2, 16.5, 9.5)),
}
LABELS = ("Processor load (%)", "Data an ACK (KB)", "Goodput (Gb/s)")


def figure(experiment):
    title = "One flow at 10 Gb/s: interrupt coalescing at its receiver"
    figure, row = plot.panels(3, 1, (6.4, 7.0), title, sharex=True)
    shown = {name: each for name, each in SERIES.items() if name in experiment.series}
    ticks = [words for words, _ in shown.values()]
    ours = zip(*(received(experiment[name][0]) for name in shown), strict=True)
    papers = zip(*(paper for _, paper in shown.values()), strict=True)
    for axes, label, own, paper in zip(row, LABELS, ours, papers, strict=True):
        plot.bars(axes, ticks, [("simulated", own, plot.SKY)], width=0.55)
        axes.grid(axis="x", visible=True)
        look = {"color": plot.VERMILION, "linestyle": "none", "marker": "D"}
        axes.plot(range(len(ticks)), paper, label="the paper", **look)
        axes.set(ylabel=label, ylim=(0, None))
    row[-1].set_xlabel("Frames before an interrupt (rx-frames)")
    return figure


def received(run):
    """Returns the load of the receiver's processor in percent, KB an ACK, goodput in Gb/s."""
    there = run.hosts.filter(host=1)
    if len(there) != 1 or there["measured_sent"][0] == 0:
        raise plot.MalformedResult(f"{run.folder}: no host 1 that answered in hosts.csv")
    arrived = run.flows["measured_bytes"].sum()
    load = 100 * there["receiving"][0]
    return load, arrived / there["measured_sent"][0] / 1e3, arrived * 8e3 / run.measured_ps
