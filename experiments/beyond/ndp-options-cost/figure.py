"""The changes by NDP's options in figures where nothing is to be gained: a panel a figure."""

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from trimline import plot

#: Figures of the paper, what is looked at in them, and the number.
COSTS = (
    (
        "fig14",
        "Figure 14, permutation: mean goodput, less is worse",
        plot.Run.mean_goodput_gbps,
    ),
    ("fig16", "Figure 16, incasts of 450 KB: last flow, more is worse", plot.Run.last_ms),
    ("fig20", "Figure 20, incasts of 270 KB: last flow, more is worse", plot.Run.last_ms),
)
#: Sets of options: words, colour, marker, place in a row.
OPTIONS = {
    "small": ("options for small packets", plot.GREEN, "o", -0.19),
    "core": ("pulls at the core's rate", plot.VERMILION, "D", 0.19),
}
#: The expected maximum of a change, in percent.
BAND = 0.5
MARKS = (BAND, 2, 5, 20, 50)


def by_senders(runs):
    """Returns the runs of a series by senders, ascending; 0 for what is no incast."""
    return plot.by(runs, lambda run: run.place("senders") if run.point else 0)


def costs(experiment):
    """Returns by figure, senders and options the change in percent."""
    found = {}
    for series, _, value in COSTS:
        base = by_senders(experiment.needed(f"{series}-paper"))
        for option in OPTIONS:
            own = by_senders(experiment.needed(f"{series}-{option}"))
            if not own or not base:
                # Of a part of the series one alone has nothing to be compared with.
                continue
            if own.keys() != base.keys():
                raise plot.MalformedResult(
                    f"{experiment.folder}: {series}-{option} and {series}-paper differ in senders"
                )
            for senders, runs in own.items():
                rows = found.setdefault(series, {}).setdefault(senders, {})
                rows[option] = plot.percent(runs, base[senders], value)
    if not found:
        raise plot.MalformedResult(f"{experiment.folder}: no figure with and without options")
    return found


def figure(experiment):
    found = costs(experiment)
    shown = [(series, words) for series, words, _ in COSTS if series in found]
    heights = [len(found[series]) for series, _ in shown]
    size = (6.8, 1.5 + 0.42 * sum(heights) + 0.3 * len(shown))
    title = "NDP's options where they are not needed, packets of 9000 B"
    look = {"sharex": True, "squeeze": False, "height_ratios": heights}
    figure, grid = plot.panels(len(shown), 1, size, title, **look)
    edges = [-2 * BAND, 2 * BAND]
    for axes, (series, words) in zip(grid.flat, shown, strict=True):
        rows = found[series]
        plot.rows_at(axes, [f"{senders:g} senders" if senders else "" for senders in rows])
        axes.axvspan(-BAND, BAND, color="#eeeeee", linewidth=0)
        axes.axvline(0, color=plot.GREY, linewidth=0.8)
        for y, changes in enumerate(rows.values()):
            for option, change in changes.items():
                _, colour, marker, shift = OPTIONS[option]
                plot.dot(axes, plot.ends(change.measure), y + shift, colour, marker)
                plot.beside(axes, y + shift, plot.signed(change.measure), colour)
                edges += plot.ends(change.measure)
        counts = [change.seeds for changes in rows.values() for change in changes.values()]
        axes.set_title(f"{words} ({plot.seeds_words(counts)})", loc="left", fontsize=8)
    # Linear as far as the band goes: beyond it a change of 15 % would hide changes of 0.5 %.
    axes = grid[-1][0]
    axes.set_xscale("symlog", linthresh=BAND)
    low, high = 1.5 * min(edges), 1.5 * max(edges)
    axes.set_xlim(low, high)
    ticks = [each for each in (*(-mark for mark in MARKS), 0, *MARKS) if low < each < high]
    for each in grid.flat:
        each.xaxis.set_major_locator(FixedLocator(ticks))
        each.xaxis.set_minor_locator(NullLocator())
        each.xaxis.set_major_formatter(
            lambda value, _: f"{value:+g}".replace("-", plot.MINUS) if value else "0"
        )
    axes.set_xlabel(
        "Change against the paper's NDP (%)\n"
        f"grey: {BAND:g} % to either side; beyond, the scale is logarithmic"
    )
    look = {"linestyle": "none", "markersize": 5}
    handles = [
        Line2D([], [], color=colour, marker=marker, label=words, **look)
        for words, colour, marker, _ in OPTIONS.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure
