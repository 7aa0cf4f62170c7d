"""Goodput by payload for each transport, and of the same flows with 9000 B for all."""

from collections import namedtuple
from statistics import fmean

from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from trimline import plot
from trimline.means import Measure

#: Series: transport, words.
MIXED = {
    "ndp": ("ndp", "NDP"),
    "ndp-window": ("ndp", "NDP, window in bytes"),
    "ndp-turns": ("ndp", "NDP, turns of bytes"),
    "ndp-window-turns": ("ndp", "NDP, turns and\nwindow in bytes"),
    "dctcp": ("dctcp", "DCTCP"),
    "mptcp": ("mptcp", "MPTCP"),
    "dcqcn": ("dcqcn", "DCQCN"),
}
#: What the quick tier has in their place: too few hosts to be beside them.
FEW_HOSTS = {"small-ndp": ("ndp", "NDP, 16 hosts")}
#: Workloads: words, marker, place in a row.
KINDS = {"large": ("flows of 9000 B", "o", -0.19), "small": ("flows of 1500 B", "s", 0.19)}


#: Goodput of a workload in percent of a host's link: measures of its flows' mean and the slowest.
Goodputs = namedtuple("Goodputs", "mean slowest seeds")


def goodputs_of(runs, workload):
    """Returns the goodputs over the seeds of a series."""
    found = []
    for run in runs:
        found.append([run.link_percent(gbps) for gbps in run.goodputs_gbps(workload)])
        if not found[-1]:
            raise plot.MalformedResult(f"{run.folder}: no flow of workload {workload!r}")
    means, slowest = ([kind(each) for each in found] for kind in (fmean, min))
    return Goodputs(Measure.of(means), Measure.of(slowest), len(runs))


def goodputs(experiment):
    """Returns by series and workload; beside each transport (`ndp`) the same with 9000 B."""
    found = {}
    for name, (transport, _) in MIXED.items():
        for series in (name, f"{transport}-all-large"):
            if runs := experiment.needed(series):
                found[series] = {kind: goodputs_of(runs, kind) for kind in KINDS}
    if not any(name in found for name in MIXED):
        for name in FEW_HOSTS:
            if not (few := experiment.get(name)):
                raise plot.MalformedResult(
                    f"{experiment.folder}: no transport with both packet sizes"
                )
            found[name] = {kind: goodputs_of(few, kind) for kind in KINDS}
    return found


def draw_number(axes, measure, y, colour, left):
    """Draws the number beside its dot, at the side where no line is, if there is room."""
    reach = measure.half_width or 0.0
    edge = measure.mean - reach if left else measure.mean + reach
    if not left or edge >= 5:
        side = {"xytext": (-6, 0), "ha": "right"} if left else {"xytext": (6, 0), "ha": "left"}
        look = {"textcoords": "offset points", "va": "center", "fontsize": 7, "color": colour}
        axes.annotate(f"{measure.mean:.0f}", (edge, y), **side, **look)


def figure(experiment):
    found = goodputs(experiment)
    shown = {name: each for name, each in (MIXED | FEW_HOSTS).items() if name in found}
    counts = [each.seeds for kinds in found.values() for each in kinds.values()]
    title = (
        f"Each host sends a flow of 9000 B packets and one of 1500 B ({plot.seeds_words(counts)})"
    )
    size = (8.8, 1.7 + 0.65 * len(shown))
    figure, row = plot.panels(1, 2, size, title, sharex=True, sharey=True)
    link = experiment.runs[0].host_link
    half = 50 * link.full_gbps / link.gbps
    for axes, words in zip(row, ("Mean of the flows", "Slowest flow"), strict=True):
        plot.rows_at(axes, [words for _, words in shown.values()])
        axes.axvline(half, color=plot.GREY, linewidth=0.8, linestyle=":")
        plot.above(axes, half, "half of a full link", plot.GREY)
        axes.set_title(words, loc="left", fontsize=9)
        axes.set_xlabel(f"Goodput (% of {link.gbps:g} Gb/s)")
        axes.set_xlim(0, 100)
    for y, (name, (transport, _)) in enumerate(shown.items()):
        alone = found.get(f"{transport}-all-large") if name in MIXED else None
        for kind, (_, marker, shift) in KINDS.items():
            for axes, number in zip(row, ("mean", "slowest"), strict=True):
                place = (y + shift, plot.PROTOCOLS[transport])
                measure = getattr(found[name][kind], number)
                before = measure.mean
                if alone is not None:
                    all_large = getattr(alone[kind], number)
                    before = all_large.mean
                    both = [before, measure.mean]
                    axes.plot(both, [place[0]] * 2, color=place[1], linewidth=0.7)
                    plot.dot(axes, plot.ends(all_large), *place, marker, filled=False)
                plot.dot(axes, plot.ends(measure), *place, marker)
                draw_number(axes, measure, *place, measure.mean < before)
    looks = {"color": plot.GREY, "linestyle": "none", "markersize": 5}
    handles = [Line2D([], [], marker=mark, **looks) for _, mark, _ in KINDS.values()]
    labels = [words for words, _, _ in KINDS.values()]
    if any(f"{transport}-all-large" in found for transport, _ in MIXED.values()):
        looks["markerfacecolor"] = "white"
        handles.append(tuple(Line2D([], [], marker=mark, **looks) for _, mark, _ in KINDS.values()))
        labels.append("the same flows when all have 9000 B")
    beside = {"handler_map": {tuple: HandlerTuple(ndivide=None)}}
    figure.legend(handles, labels, loc="outside lower center", ncols=3, **beside)
    return figure
