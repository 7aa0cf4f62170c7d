"""Several schemes on the same works. As a program it prints their numbers as a table:

.venv/bin/python experiments/beyond/same-work/figure.py out/beyond/same-work
"""

import math
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import polars
from matplotlib.colors import to_rgb
from matplotlib.ticker import LogLocator, NullFormatter

from trimline import plot
from trimline.means import quantile, short


@dataclass(frozen=True)
class Work:
    """A work to compare: its series, and the flows that count."""

    series: str
    words: str
    #: The workload of the small flows, and what they are.
    small: str
    small_words: str
    #: Small flows are shorter than this.
    below: float = math.inf
    #: Large flows of a size have so much and more; none where all large flows are long-lived.
    large_from: float = math.inf
    #: Only flows that began before this time, so that those that did not end are few.
    before_ms: float = math.inf
    #: Only runs with this number of senders.
    senders: int | None = None


WORKS = (
    Work("fig12", "heavy-tailed sizes", "flows", "below 10 KB", 10_000, 1_000_000),
    Work("fig15", "beside long-lived flows", "short", "90 KB"),
    Work("fig16", "incast of 431", "incast", "450 KB", large_from=0, senders=431),
    Work("fig23", "web, 4:1 oversubscribed", "web", "below 10 KB", 10_000, 100_000, before_ms=40),
)
#: The order of the schemes; others come behind them.
FIRST = ["ndp", "opf", "homa", "homa-aeolus", "phost", "pfabric", "pfabric-fastlane", "hull"]
FIRST += ["dctcp", "dcqcn", "fastlane", "tcp"]
#: How much of the small flows is done, and how a point shows it.
SHARES = ((0.5, "median", 1.0), (0.99, "99 %", 0.45), (0.999, "99.9 %", 0.0))
#: What makes two flows of two runs the same.
KEY = ["workload", "source", "index", "size_bytes"]


#: Means over the seeds: of small flows the time of each share, infinite where more than the rest
#: did not end; of large flows those that ended under every scheme; drops in percent of the sent.
ROW = "work scheme small_us large_us goodput_gbps dropped_percent largest_queue_kb"
Row = namedtuple("Row", ROW)


def rows(experiment):
    """Returns every scheme on every work, in the order of the schemes."""
    found = []
    for work in WORKS:
        by_scheme = schemes_of(experiment, work)
        common = ended_everywhere(by_scheme.values(), work)
        found += [row(work, scheme, runs, common) for scheme, runs in by_scheme.items()]
    if not found:
        raise plot.MalformedResult(f"{experiment.folder}: no run of a work")
    return found


def schemes_of(experiment, work):
    """Returns the runs of a work by scheme."""
    found = {}
    for series, runs in experiment.series.items():
        name, _, scheme = series.partition("-")
        at = [run for run in runs if work.senders in (None, run.point.get("senders"))]
        if name == work.series and at:
            found[scheme] = at
    order = {name: number for number, name in enumerate(FIRST)}
    return dict(sorted(found.items(), key=lambda each: order.get(each[0], len(order))))


def chosen(run, work):
    """Returns the flows of a size that began in time."""
    began = polars.col("start_ps") < work.before_ms * 1e9
    return run.flows.filter(began & polars.col("size_bytes").is_not_null())


def large(run, work):
    """Returns the large flows that ended."""
    ended = polars.col("fct_receiver_ps").is_not_null()
    return chosen(run, work).filter(ended & (polars.col("size_bytes") >= work.large_from))


def ended_everywhere(every, work):
    """Returns by seed the large flows that every scheme has ended."""
    found = {}
    for run in (run for runs in every for run in runs):
        keys, before = large(run, work).select(KEY), found.get(run.seed)
        found[run.seed] = keys if before is None else before.join(keys, on=KEY, how="semi")
    return found


def row(work, scheme, runs, common):
    small, means = [], []
    for run in runs:
        of_size = chosen(run, work).filter(workload=work.small)
        of_size = of_size.filter(polars.col("size_bytes") < work.below)
        small.append(of_size["fct_receiver_ps"].cast(polars.Float64).fill_null(math.inf) / 1e6)
        both = large(run, work).join(common[run.seed], on=KEY, how="semi")
        if len(both):
            means.append(both["fct_receiver_ps"].mean() / 1e6)
    every = polars.concat(small)
    if not len(every):
        raise plot.MalformedResult(f"{runs[0].folder}: no small flow")
    return Row(
        work=work,
        scheme=scheme,
        small_us=tuple(quantile(every, share) for share, _, _ in SHARES),
        large_us=fmean(means) if means else None,
        goodput_gbps=fmean(sum(run.goodputs_gbps()) for run in runs),
        dropped_percent=fmean(dropped_percent(run) for run in runs),
        largest_queue_kb=max(largest_queue_kb(run) for run in runs),
    )


def dropped_percent(run):
    return 100 * run.number("ports", "dropped") / max(run.number("packets_sent"), 1)


def largest_queue_kb(run):
    """Returns the most that the queues of a port of a switch held at a sample."""
    is_host = polars.col("layer").cast(polars.String).str.starts_with("host")
    return (run.queues.filter(~is_host)["queue_bytes_max"].max() or 0) / 1e3


def given_up(every, one):
    """Returns by how many percent the goodput is below the best scheme's on the same work."""
    best = max(each.goodput_gbps for each in every if each.work is one.work)
    return 100 * (1 - one.goodput_gbps / best)


def table(every):
    head = ["work", "scheme", *(f"small flows, {words} (µs)" for _, words, _ in SHARES)]
    head += ["large flows, mean (µs)", "goodput below the best's (%)", "dropped (%)"]
    head += ["largest queue (KB)"]
    lines = [head, ["---"] * len(head)]
    for one in every:
        numbers = [*one.small_us, one.large_us, given_up(every, one)]
        numbers += [one.dropped_percent, one.largest_queue_kb]
        name = plot.NAMES.get(one.scheme, one.scheme)
        lines.append([one.work.series, name, *map(cell, numbers)])
    return "".join(f"| {' | '.join(each)} |\n" for each in lines).replace("| --- ", "|---")


def cell(value):
    """Returns three digits; a dash for a missing value, and words for what did not end."""
    if value is None:
        return "-"
    return short(value) if math.isfinite(value) else "not ended"


def figure(experiment):
    every = rows(experiment)
    works = [work for work in WORKS if any(each.work is work for each in every)]
    names = list(dict.fromkeys(each.scheme for each in every))
    size, ratios = (3.0 * (len(works) + 1) + 1, 7.6), (2, 1.2, 1.2)
    title = "The same works for every scheme"
    figure, grid = plot.panels(3, len(works) + 1, size, title, squeeze=False, height_ratios=ratios)
    for work, column in zip(works, grid.T, strict=False):
        mine = [each for each in every if each.work is work]
        draw_small(column[0], mine, names)
        words = f"{work.words}\n({work.series}; small flows: {work.small_words})"
        column[0].set_title(words, fontsize=8)
        draw_bars(column[1], mine, names, lambda one: one.largest_queue_kb, "Largest queue (KB)")
        column[1].set_xlim(5, 8_000)
        plot.logarithmic(column[1], "x")
        words = "Goodput below the best's (%)"
        draw_bars(column[2], mine, names, lambda one: given_up(every, one), words)
        for axes in column:
            ticks = [plot.NAMES.get(name, name) if work is works[0] else "" for name in names]
            axes.set_yticks(range(len(names)), ticks)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
    draw_buffers(experiment, grid[:, -1])
    look = {"markeredgecolor": plot.GREY, "markersize": 6, "linestyle": "none", "marker": "o"}
    for _, words, filled in SHARES:
        face = (*to_rgb(plot.GREY), filled)
        grid[0][0].plot([], [], markerfacecolor=face, label=f"small flows: {words}", **look)
    return figure


def colour_of(scheme):
    return plot.PROTOCOLS.get(scheme, plot.GREY)


def draw_small(axes, mine, names):
    # What takes tens of milliseconds is shown in them.
    scale, unit = (1e3, "ms") if min(one.small_us[0] for one in mine) > 10_000 else (1.0, "µs")
    for one in mine:
        at, colour = names.index(one.scheme), colour_of(one.scheme)
        done = [value / scale for value in one.small_us if math.isfinite(value)]
        axes.plot(done, [at] * len(done), color=colour, linewidth=1.2)
        for value, (_, _, filled) in zip(done, SHARES, strict=False):
            axes.plot(value, at, "o", color=colour, markersize=6, markerfacecolor="white")
            axes.plot(value, at, "o", color=colour, markersize=6, alpha=filled)
        if len(done) < len(one.small_us):
            axes.annotate("not ended", (done[-1], at), (8, -3), textcoords="offset points")
    axes.set(xscale="log", xlabel=f"FCT of small flows ({unit})")
    smallest, largest = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if largest < 50 * smallest else (1,)))
    plot.plain(axes, "x")
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_bars(axes, mine, names, value, words):
    for one in mine:
        axes.barh(names.index(one.scheme), value(one), color=colour_of(one.scheme), height=0.6)
    axes.set_xlabel(words)


def draw_buffers(experiment, axes):
    """Draws HULL and DCTCP under incast by what a queue holds."""
    for scheme in ("hull", "dctcp"):
        for senders, dashes in ((11, ":"), (101, "--"), (431, "-")):
            runs = experiment.get(f"buffer-{scheme}")
            places = plot.by([run for run in runs if run.point["senders"] == senders], "data_queue")
            if not places:
                continue
            ideal = plot.Ideal.of([run for runs in places.values() for run in runs])

            def over(run, ideal=ideal, senders=senders):
                return ideal.over_percent(run.last_ms(), senders)

            look = {"color": colour_of(scheme), "linestyle": dashes, "marker": "."}
            look["label"] = f"{plot.NAMES[scheme]}, {senders} senders"
            for each, value in zip(axes, (over, dropped_percent, largest_queue_kb), strict=True):
                plot.line(each, places, value, **look)
    words = ("Last flow over the ideal (%)", "Dropped (% of packets)", "Largest queue (KB)")
    for each, label in zip(axes, words, strict=True):
        plot.label(each, "Packets that a queue holds", label, log="x")
    axes[0].set_yscale("symlog", linthresh=1)
    axes[0].set_ylim(0, None)
    plot.plain(axes[0], "y")
    plot.logarithmic(axes[2], "y")
    axes[0].set_title("incast by buffer (fig16)", fontsize=8)
    axes[1].set_ylim(0, None)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(table(rows(plot.Experiment.read(Path(sys.argv[1]), "beyond/same-work"))), end="")
    except plot.MalformedResult as error:
        sys.exit(f"error: {error}")
