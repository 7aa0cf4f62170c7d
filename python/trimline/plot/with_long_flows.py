"""Figures of transfers beside long-lived flows (University of Cambridge, TR-933, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import seeds
from trimline.plot.results import Experiment, Finding, Run

#: Names of series begin with a distribution of sizes: what findings and panels call it.
SIZES = {
    "webndp": "Web of NDP's paper",
    "web": "Web",
    "cache": "Cache",
    "hadoop": "Hadoop",
    # The quick tier's, which the figure does not need.
    "small": "16 hosts",
}
#: And go on with a load.
LOADS = {"1to1": "1:1", "4to1": "4:1"}
#: What the report says of a distribution, and at which share of the transfers.
QUANTILES = {"median": 0.50, "95th percentile": 0.95, "99th percentile": 0.99}
WORKLOAD = "transfer"
#: What names of series end with in the figure of the tables, and its lines.
ENDS = {"ndp": "-", "dctcp": "-", "dcqcn": "-", "mptcp": "-", "mptcp-uncoupled": "--"}

Colour = str | tuple[float, float, float, float]


@dataclass(frozen=True)
class Transfer:
    """One transfer that began: its bytes, and its FCT at the sender in ms if it has ended."""

    size_bytes: int
    fct_ms: float | None


def transfers(run: Run) -> list[Transfer]:
    """The transfers of a run that began."""
    began = [row for row in run.rows("flows") if row["workload"] == WORKLOAD and row["start_ps"]]
    if not began:
        raise MalformedResult(f"{run.folder}: no flow of `{WORKLOAD}` began")
    try:
        return [
            Transfer(
                size_bytes=int(row["size_bytes"]),
                fct_ms=int(row["fct_sender_ps"]) / 1e9 if row["fct_sender_ps"] else None,
            )
            for row in began
        ]
    except (KeyError, ValueError) as error:
        raise MalformedResult(f"{run.folder}/flows.csv: no usable {error}") from error


def panels_of(experiment: Experiment) -> dict[tuple[str, str], dict[str, list[Run]]]:
    """Runs by distribution and load, then by what the series' name ends with."""
    found: dict[tuple[str, str], dict[str, list[Run]]] = {}
    for series, runs in experiment.series().items():
        sizes, _, rest = series.partition("-")
        load, _, end = rest.partition("-") if sizes != "small" else ("", "", rest)
        if sizes not in SIZES or (load and load not in LOADS):
            raise MalformedResult(f"{experiment.folder}: no sizes and load: {series!r}")
        found.setdefault((sizes, load), {})[end] = list(runs)
    if any(load for _, load in found):
        found = {key: ends for key, ends in found.items() if key[1]}
    order = list(SIZES)
    return {key: found[key] for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))}


def title_of(sizes: str, load: str) -> str:
    """A panel's words."""
    return f"{SIZES[sizes]} {LOADS[load]}" if load else SIZES[sizes]


def cumulative(axes: Axes, each: Sequence[Transfer], colour: Colour, line: str) -> None:
    """The share of the transfers that took no longer; some may not have ended."""
    step(axes, [one.fct_ms for one in each if one.fct_ms is not None], len(each), colour, 1.2, line)


def step(
    axes: Axes, times: Sequence[float], of: int, colour: Colour, width: float, line: str = "-"
) -> None:
    """A line from nothing up to the share that the times are among `of` transfers."""
    ordered = sorted(times)
    shares = [number / of for number in range(len(ordered) + 1)]
    times = [*ordered[:1], *ordered]
    axes.step(times, shares, where="post", color=colour, linewidth=width, linestyle=line)


def published(findings: Sequence[Finding], name: str) -> list[tuple[float, float]]:
    """The report's quantiles of a row: times in ms, and their shares of the transfers."""
    points = []
    for words, share in QUANTILES.items():
        of_it = [one.paper for one in findings if one.name.startswith(f"{name}: {words}")]
        if of_it and of_it[0] is not None:
            points.append((of_it[0] / 1e3, share))
    return points


def tables(experiment: Experiment) -> Figure:
    """FCT of each distribution and load: a line a protocol, all seeds; dots are the report's."""
    panels = panels_of(experiment)
    columns = len({load for _, load in panels})
    rows = -(-len(panels) // columns)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(max(6.4, 4.6 * columns), 0.9 + 2.1 * rows),
        layout="constrained",
    )
    drawn: dict[str, Line2D] = {}
    for axes, ((sizes, load), ends) in zip(grid.flat, panels.items(), strict=False):
        title = title_of(sizes, load)
        for end, line in ENDS.items():
            runs = ends.get(end)
            if not runs:
                continue
            protocol, _, variant = end.partition("-")
            colour = style.PROTOCOLS[protocol]
            label = f"{style.name_of(protocol)} {variant}".rstrip()
            cumulative(axes, [one for run in runs for one in transfers(run)], colour, line)
            drawn[label] = Line2D(
                [], [], color=colour, linestyle=line, label=f"{label} ({seeds(runs)})"
            )
            if variant and protocol in ends:
                continue
            for x, y in published(experiment.findings, f"{title}, {protocol.upper()}"):
                axes.plot(x, y, "o", color=colour, markersize=4, markeredgecolor="white")
        axes.set(xscale="log", ylim=(0, 1.02))
        axes.set_title(title, loc="left")
        axes.xaxis.set_major_formatter("{x:g}")
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("FCT at the sender (ms)")
    for axes in grid[:, 0]:
        axes.set_ylabel("Share of transfers")
    handles = list(drawn.values())
    if any(one.paper is not None for one in experiment.findings):
        handles.append(Line2D([], [], color=style.GREY, marker="o", markersize=4, linestyle=""))
        handles[-1].set_label("the report's")
    figure.legend(handles=handles, loc="outside lower center", ncols=5 if columns > 1 else 3)
    figure.suptitle("One transfer after the other beside long-lived flows")
    return figure


def completed(run: Run) -> int:
    """The number of transfers of a run that ended."""
    return sum(one.fct_ms is not None for one in transfers(run))


#: Sizes that all have names.
MAX_NAMED = 4


def by_size(axes: Axes, runs: Sequence[Run]) -> None:
    """The FCT of each size, a line a seed: small transfers are dark, large ones light.

    Up to four sizes are named; of more the least, the middle and the largest.
    """
    times: dict[int, dict[int, list[float]]] = {}
    for run in runs:
        for one in transfers(run):
            if one.fct_ms is not None:
                of_size = times.setdefault(one.size_bytes, {})
                of_size.setdefault(run.seed, []).append(one.fct_ms)
    sizes = sorted(times)
    colours = pyplot.get_cmap("viridis")
    handles = []
    for number, size in enumerate(sizes):
        colour = colours(number / max(1, len(sizes) - 1) * 0.9)
        for values in times[size].values():
            step(axes, values, len(values), colour, 0.4)
        if len(sizes) <= MAX_NAMED or number in (0, len(sizes) // 2, len(sizes) - 1):
            handles.append(Line2D([], [], color=colour, label=f"{size / 1000:g} KB"))
    axes.set(xscale="log", ylim=(0, 1.02), ylabel="Share of a size")
    axes.legend(handles=handles, loc="upper left")
    axes.xaxis.set_major_formatter("{x:g}")


def seeds50(experiment: Experiment) -> Figure:
    """FCT by size with credits kept for each load, and the transfers that ended in each seed."""
    panels = {
        key: ends
        for key, ends in panels_of(experiment).items()
        if "bank" in ends or "no-bank" in ends
    }
    if not panels:
        raise MalformedResult(f"{experiment.folder}: no series with or without a bank of credits")
    figure, grid = pyplot.subplots(
        len(panels),
        2,
        sharex="col",
        squeeze=False,
        figsize=(9.2, 0.9 + 2.0 * len(panels)),
        layout="constrained",
    )
    lines = {
        "bank": ("credits kept", style.BLUE, "o"),
        "no-bank": ("credits discarded, as theirs", style.VERMILION, "x"),
    }
    for (left, right), ((sizes, load), ends) in zip(grid, panels.items(), strict=True):
        title = title_of(sizes, load)
        kept = ends.get("bank")
        if kept:
            by_size(left, kept)
        left.set_title(f"{title}: FCT by size, credits kept", loc="left")
        for end, (label, colour, marker) in lines.items():
            counts = sorted((completed(run) for run in ends.get(end, [])), reverse=True)
            right.plot(
                range(1, len(counts) + 1),
                counts,
                marker,
                markersize=3,
                color=colour,
                label=label if counts else None,
            )
        right.set_title(f"{title}: transfers that ended", loc="left")
        right.set_ylim(0, 1.1 * right.get_ylim()[1])
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        right.legend(loc="lower left")
    # Room for the names of sizes, where no transfer is so fast.
    fastest, _ = grid[0][0].get_xlim()
    grid[0][0].set_xlim(left=fastest / 3)
    grid[-1][0].set_xlabel("FCT at the sender (ms)")
    grid[-1][1].set_xlabel("Seeds, from the most to the least")
    figure.suptitle("One transfer after the other beside long-lived flows: each seed")
    return figure
