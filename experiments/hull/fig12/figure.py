"""Completion times of flows of Pareto sizes, a row a load and a bar a scheme (Figures 12, 13)."""

from statistics import fmean

from trimline import plot

#: Sizes: words, unit.
CLASSES = (
    ((None, 10_000), "below 10 KB", "us"),
    ((10_000, 100_000), "10 to 100 KB", "us"),
    ((100_000, 10_000_001), "100 KB to 10 MB", "ms"),
    ((10_000_001, 100_000_000_000), "above 10 MB", "ms"),
)
SCHEMES = {
    "tcp": ("TCP (one run)", plot.VERMILION),
    "dctcp": ("DCTCP", plot.PURPLE),
    "hull": ("HULL", plot.BLUE),
}
#: Endings of series.
LOADS = {"": "360,000 flows a second", "-realised": "load of 15 % realised"}
SHORT = {"-short": "54,000 flows"}


def figure(experiment):
    loads = SHORT if experiment.tier == "quick" else LOADS
    title = "192 servers, Pareto sizes: completion times to the last ACK"
    size = (11.0, 3.0 * len(loads) + 0.6)
    figure, grid = plot.panels(len(loads), 4, size, title, squeeze=False)
    for row, (ending, words) in zip(grid, loads.items(), strict=True):
        for axes, each in zip(row, CLASSES, strict=True):
            draw(axes, experiment, ending, *each)
        row[0].set_ylabel(f"{words}\nFCT (µs)")
    return figure


def draw(axes, experiment, ending, sizes, words, unit):
    reductions = ["mean", "p99", "p99.9"] if unit == "us" else ["mean"]
    series = []
    for scheme, (name, colour) in SCHEMES.items():
        runs = experiment.get(scheme + ending)
        series.append((name, [mean(runs, sizes, reduce) for reduce in reductions], colour))
    plot.bars(axes, reductions, series, width=0.26)
    for drawn in axes.containers:
        labels = [f"{v:.0f}" if v >= 100 else f"{v:.3g}" for v in drawn.datavalues]
        axes.bar_label(drawn, labels, fontsize=5)
    axes.set(title=words, ylabel=f"FCT ({unit.replace('us', 'µs')})")
    # The quick tier asks for few panels.
    axes.set_visible(bool(axes.containers))
    if unit == "us" and axes.containers:
        plot.logarithmic(axes, "y")
        axes.set_ylim(10, None)


def mean(runs, sizes, reduce):
    """Returns the mean over seeds of a completion time, if the runs measure it."""
    wanted = {"size_bytes": dict(zip(("from", "below"), sizes, strict=True)), "reduce": reduce}
    try:
        return fmean(run.answer(quantity="fct", **wanted) for run in runs) if runs else None
    except plot.MalformedResult:
        return None
