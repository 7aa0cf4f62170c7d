"""FCT by size of transfers beside long-lived flows, and the transfers that ended, a seed each."""

from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

from trimline import plot

LIKE = plot.load(__file__, "ndp-evaluation/tables2-9")
#: What names of series end with: words, colour, marker.
ENDS = {
    "bank": ("credits kept", plot.BLUE, "o"),
    "no-bank": ("credits discarded, as theirs", plot.VERMILION, "x"),
}
#: Sizes that all have names; of more the least, the middle and the largest.
MAX_NAMED = 4


def figure(experiment):
    shown = {title: ends for title, ends in LIKE.panels_of(experiment).items() if {*ends} & {*ENDS}}
    if not shown:
        raise plot.MalformedResult(
            f"{experiment.folder}: no series with or without a bank of credits"
        )
    title = "One transfer after the other beside long-lived flows: each seed"
    size = (9.2, 0.9 + 2.0 * len(shown))
    figure, grid = plot.panels(len(shown), 2, size, title, sharex="col", squeeze=False)
    for (left, right), (title, ends) in zip(grid, shown.items(), strict=True):
        if kept := ends.get("bank"):
            by_size(left, kept)
        left.set_title(f"{title}: FCT by size, credits kept", loc="left")
        for end, (label, colour, marker) in ENDS.items():
            if runs := ends.get(end):
                counts = [LIKE.transfers([run])["ms"].count() for run in runs]
                look = {"markersize": 3, "color": colour, "label": label}
                places = range(1, len(counts) + 1)
                right.plot(places, sorted(counts, reverse=True), marker, **look)
        right.set_title(f"{title}: transfers that ended", loc="left")
        right.set_ylim(0, 1.1 * right.get_ylim()[1])
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
    grid[-1][0].set_xlabel("FCT at the sender (ms)")
    grid[-1][1].set_xlabel("Seeds, from the most to the least")
    return figure


def by_size(axes, runs):
    """Draws the FCT of each size, a line a seed: small transfers are dark, large ones light."""
    ended = LIKE.transfers(runs).drop_nulls()
    sizes = ended[LIKE.SIZE].unique().sort().to_list()
    for number, size in enumerate(sizes):
        colour = pyplot.get_cmap("viridis")(number / max(1, len(sizes) - 1) * 0.85)
        for of_seed in ended.filter(size_bytes=size).partition_by("seed", maintain_order=True):
            plot.cdf(axes, of_seed["ms"], color=colour, linewidth=0.4)
        if len(sizes) <= MAX_NAMED or number in (0, len(sizes) // 2, len(sizes) - 1):
            axes.plot([], [], color=colour, label=f"{size / 1000:g} KB")
    plot.label(axes, "", "Share of a size", log="x", ylim=(0, 1.02))
