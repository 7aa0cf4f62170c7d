"""The cost of drawn pull spacing: the last FCT of an incast by size, a permutation by rank."""

from statistics import fmean

from trimline import plot

#: The measured one is there or not.
KINDS = {
    "perfect": ("perfect", plot.BLUE, "-", "o"),
    "drawn": ("synthetic", plot.VERMILION, "--", "x"),
    "measured": ("measured", plot.GREEN, ":", "+"),
}


def figure(experiment):
    title = "Pulls spaced perfectly and by two distributions, 432 hosts, simulated"
    figure, (left, right) = plot.panels(1, 2, (7.2, 3.6), title)
    for kind, (name, colour, dashes, marker) in KINDS.items():
        if runs := experiment.get(f"incast-{kind}"):
            look = {"color": colour, "linestyle": dashes}
            last = {
                "marker": marker,
                "markersize": 5,
                "label": f"{name} spacing ({plot.seeds(runs)})",
            }
            plot.line(left, plot.by(runs, "size"), plot.Run.last_ms, **last, **look)
            goodputs = [run.goodputs_gbps() for run in experiment[f"permutation-{kind}"]]
            mean = fmean(map(fmean, goodputs))
            plot.rank(right, goodputs, label=f"{name}: mean {mean:.2f} Gb/s", **look)
    words = ("Size of each of 200 flows (KB)", "Last flow completion time (ms)")
    plot.label(left, *words, "Incast of 200, packets of 9000 B", log="xy")
    words = ("Flow, by rank of throughput", "Goodput (Gb/s)", "Permutation, packets of 1500 B")
    plot.label(right, *words, ylim=(0, 10), xlim=(0, None))
    return figure
