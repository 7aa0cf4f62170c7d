"""Effects of pulls at the core's rate on trims, packets resent and completion times."""

import math
from dataclasses import dataclass

import polars
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from trimline import plot
from trimline.means import quantile, short


@dataclass(frozen=True)
class Work:
    """A congested core, and the goals for it."""

    series: str
    words: str
    #: Only flows that began before this time, so that those that did not end are few.
    before_ms: float = math.inf
    #: Packets resent for each that was delivered: no more than this.
    resent: float | None = None


WORKS = (
    Work("web-4", "Web traffic, 4:1 oversubscribed", before_ms=40),
    Work("web-8", "Web traffic, 8:1 oversubscribed", before_ms=40),
    Work("permutation-8", "Permutation, 8:1 oversubscribed", resent=0.2),
)
#: Of what the paper's pulls have: trims, and median and 99th percentile.
HALF, NO_WORSE = 0.5, 1.0


@dataclass(frozen=True)
class Ratio:
    """A row of a work: what the core's rate makes of a number."""

    words: str
    unit: str
    #: In binary logarithms.
    change: plot.Change
    #: The quotient should not be more.
    goal: float | None

    @property
    def quotient(self):
        """After over before: the geometric mean over the seeds."""
        return 2**self.change.measure.mean


def trimmed_percent(run):
    return 100 * run.number("ports", "trimmed") / max(run.number("packets_sent"), 1)


def resent(run):
    again = sum(run.number("retransmissions", cause) for cause in run.summary["retransmissions"])
    return again / max(run.number("packets_delivered"), 1)


def completion_us(run, share, before_ms):
    """Returns when `share` of the flows that began in time were done, in us after their start."""
    path = run.folder / "flows.csv"
    if "start_ps" not in run.flows.columns:
        raise plot.MalformedResult(f"{path}: no usable start_ps")
    flows = run.flows.filter(polars.col("start_ps") < before_ms * 1e9)
    if not len(flows):
        raise plot.MalformedResult(f"{path}: no flow that began in time")
    times = flows["fct_receiver_ps"].cast(polars.Float64).fill_null(math.inf) / 1e6
    found = quantile(times, share)
    if not math.isfinite(found):
        raise plot.MalformedResult(f"{path}: fewer than {100 * share:g} % of the flows ended")
    return found


def ratios(experiment):
    """Returns by work what the core's rate changes: trims, packets resent, median, 99th."""
    found = {}
    for work in WORKS:
        paper = experiment.needed(f"{work.series}-paper")
        ours = experiment.needed(f"{work.series}-core-rate")
        if not paper or not ours:
            # Of a part of the series one alone has nothing to be compared with.
            continue

        def change(value, ours=ours, paper=paper):
            return plot.doublings(ours, paper, value)

        def time(share, work=work, change=change):
            return change(lambda run: completion_us(run, share, work.before_ms))

        again = change(resent)
        goal = None if work.resent is None else work.resent / again.before
        found[work.series] = [
            Ratio("packets trimmed", "%", change(trimmed_percent), HALF),
            Ratio("packets resent", "a packet", again, goal),
            Ratio("median FCT", "us", time(0.5), NO_WORSE),
            Ratio("99th-percentile FCT", "us", time(0.99), NO_WORSE),
        ]
    if not found:
        raise plot.MalformedResult(f"{experiment.folder}: no work with and without the core's rate")
    return found


def from_to(row):
    """Returns the number before and after, in words."""
    before, after, unit = row.change.before, row.change.after, row.unit
    if unit == "us":
        unit = "µs"
        if max(before, after) >= 1000:
            before, after, unit = before / 1e3, after / 1e3, "ms"
    return f"{short(before)} \N{RIGHTWARDS ARROW} {short(after)} {unit}".rstrip()


def called(quotient, _):
    """Returns a power of two as people say it."""
    number = f"{quotient:g} times" if quotient >= 1 else f"1/{1 / quotient:g}"
    return {0.5: "half", 1.0: "the same", 2.0: "twice"}.get(quotient, number)


def figure(experiment):
    found = ratios(experiment)
    works = [work for work in WORKS if work.series in found]
    counts = [row.change.seeds for rows in found.values() for row in rows]
    title = f"NDP with pulls at the core's rate ({plot.seeds_words(counts)})"
    size = (6.8, 1.3 + 1.3 * len(works))
    figure, grid = plot.panels(len(works), 1, size, title, sharex=True, squeeze=False)
    places = []
    for axes, work in zip(grid.flat, works, strict=True):
        axes.axvline(1, color=plot.GREY, linewidth=0.8)
        rows = found[work.series]
        plot.rows_at(axes, [row.words for row in rows])
        for y, row in enumerate(rows):
            # Of the logarithm: as far below as above where halving is as far as doubling.
            quotients = [2**end for end in plot.ends(row.change.measure)]
            plot.dot(axes, quotients, y, plot.VERMILION)
            places += quotients
            if row.goal is not None:
                places.append(row.goal)
                axes.plot([row.goal] * 2, [y - 0.32, y + 0.32], color=plot.BLACK, linewidth=1.8)
            times = f"\N{MULTIPLICATION SIGN} {short(row.quotient)}"
            plot.beside(axes, y, f"{times}:  {from_to(row)}", plot.VERMILION)
        axes.set_title(work.words, loc="left", fontsize=9)
    low = math.floor(math.log2(min(places)) - 0.3)
    high = max(math.ceil(math.log2(max(places)) + 0.3), 1)
    axes = grid[-1][0]
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0**low, 2.0**high)
    for each in grid.flat:
        each.xaxis.set_major_locator(FixedLocator([2.0**n for n in range(low, high + 1)]))
        each.xaxis.set_minor_locator(NullLocator())
        each.xaxis.set_major_formatter(called)
    axes.set_xlabel("Against NDP as the paper has it")
    look = {"color": plot.BLACK, "marker": "|", "markersize": 10, "markeredgewidth": 1.8}
    goal = Line2D([], [], linestyle="none", label="goal: no more than this", **look)
    figure.legend(handles=[goal], loc="outside lower center")
    return figure
