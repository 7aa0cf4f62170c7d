"""One function a figure: what the paper shows, from our runs and from the published numbers.

Here those that show flows; `sweeps` has those that show a sweep, `packets` those that show packets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import packets, style, sweeps, transfers
from trimline.plot.incast import Ideal
from trimline.plot.lines import marked, seeds
from trimline.plot.results import Experiment, Run


def draw(experiment: Experiment, folder: Path) -> list[Path]:
    """Draws the figure of an experiment; gives the files written."""
    with pyplot.rc_context(style.SETTINGS):
        figure = FIGURES[experiment.identifier](experiment)
        if experiment.tier == "quick":
            style.note(figure, "quick tier")
        return style.write(figure, folder, experiment.identifier.replace("/", "-"))


def fig14(experiment: Experiment) -> Figure:
    """Throughput of every flow of a permutation, by rank: all seeds, their mean, the published."""
    figure, axes = pyplot.subplots(figsize=(6.0, 4.8), layout="constrained")
    full = experiment.runs[0].host_link.full_gbps
    marked(axes, full, f"full link {full:.2f} Gb/s")
    for series, runs in ndp_first(experiment):
        colour = style.colour_of(series)
        ranked = [sorted(run.throughput_gbps()) for run in runs]
        same_length(series, ranked)
        for throughput in ranked:
            axes.plot(throughput, color=colour, linewidth=0.7, alpha=0.35)
        mean = [fmean(at_rank) for at_rank in zip(*ranked, strict=True)]
        label = f"{style.name_of(series)}, simulated ({seeds(runs)})"
        axes.plot(mean, color=colour, linestyle=style.line_of(series), label=label)
    for column, throughput in experiment.reference.items():
        protocol = style.protocol_of(column)
        if not protocol:
            continue
        axes.plot(
            throughput,
            color=style.PROTOCOLS[protocol] if protocol != "ndp" else style.BLACK,
            linewidth=1.2,
            linestyle="--",
            label=f"{style.NAMES[protocol]}, authors' htsim",
        )
    axes.set(
        xlabel="Flow, by rank of throughput",
        ylabel="Goodput (Gb/s)",
        ylim=(0, 1.1 * experiment.runs[0].host_link.gbps),
        xlim=(0, max(len(run.flows) for run in experiment.runs) - 1),
    )
    figure.suptitle("Permutation: every host sends to one and receives from one")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def fig16(experiment: Experiment) -> Figure:
    """First and last FCT of an incast by senders; below, what the last costs over the ideal."""
    figure, (above, below) = pyplot.subplots(
        2, sharex=True, figsize=(6.0, 6.0), height_ratios=(1.7, 1), layout="constrained"
    )
    every = [run for run in experiment.runs if not prioritised(run)]
    counts = sorted({len(run.flows) for run in every})
    ideal = Ideal.of(every)
    above.plot(
        counts,
        [ideal.ms(count) for count in counts],
        color=style.GREY,
        linestyle=":",
        label="ideal: the link never idle",
    )
    for series, runs in ndp_first(experiment):
        colour = style.colour_of(series)
        if prioritised(runs[0]):
            plot_seeds(above, runs, preferred_ms, style.PURPLE, "NDP prioritised, simulated", "-.")
            continue
        if series.startswith("dctcp-shared-"):
            # The factor's effect is in the table; here it would only hide lines.
            continue
        name = style.name_of(series)
        plot_seeds(above, runs, lambda run: run.fct_ms()[-1], colour, f"{name} last, simulated")
        pale = style.SKY if colour == style.BLUE else colour
        plot_seeds(above, runs, lambda run: run.fct_ms()[0], pale, f"{name} first, simulated", "--")
        plot_seeds(
            below,
            runs,
            lambda run: ideal.over_percent(run.fct_ms()[-1], len(run.flows)),
            colour,
            f"{name} last, simulated",
        )
    reference = experiment.reference
    if reference:
        senders = reference["senders"]
        last = [seconds * 1e3 for seconds in reference["fct_max_s"]]
        first = [seconds * 1e3 for seconds in reference["fct_min_s"]]
        dots = {"color": style.BLACK, "linestyle": "none", "markersize": 3}
        above.plot(senders, last, marker="o", label="NDP last, authors' htsim", **dots)
        above.plot(senders, first, marker="x", label="NDP first, authors' htsim", **dots)
        over = [ideal.over_percent(fct, n) for n, fct in zip(senders, last, strict=True)]
        below.plot(senders, over, marker="o", label="NDP last, authors' htsim", **dots)
    above.set(ylabel="Flow completion time (ms)", yscale="log")
    figure.suptitle(f"Incast: each sender {ideal.size_bytes // 1000} KB to one receiver")
    above.yaxis.set_major_formatter("{x:g}")
    above.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    below.axhline(0, color=style.GREY, linewidth=0.8, linestyle=":")
    below.set(ylabel="Last over ideal (%)", xlabel="Senders", xlim=(-5, None))
    # From a tenth of a percent to the thousands that time-outs cost.
    below.set_yscale("symlog", linthresh=0.1)
    below.set_ylim(0, None)
    below.yaxis.set_major_formatter("{x:g}")
    return figure


def fig21(experiment: Experiment) -> Figure:
    """Throughput of five flows that share a sender's and a receiver's link: the paper's, ours."""
    findings = [each for each in experiment.findings if each.unit == "Gb/s"]
    paper = [each.paper for each in findings if each.paper is not None]
    ours = [each.ours for each in findings if each.ours is not None]
    if not findings or not len(findings) == len(paper) == len(ours):
        raise MalformedResult("findings.json: findings in Gb/s need the paper's value and ours")
    figure, axes = pyplot.subplots(layout="constrained")
    places = range(len(findings))
    width = 0.38
    bars = (
        ("NDP, paper", paper, style.GREY, -width / 2, "//"),
        ("NDP, simulated", ours, style.BLUE, width / 2, ""),
    )
    for label, heights, colour, shift, hatch in bars:
        drawn = axes.bar(
            [place + shift for place in places],
            heights,
            width,
            color=colour,
            edgecolor="white",
            hatch=hatch,
            label=label,
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.bar_label(drawn, fmt="%.2f", label_type="center", fontsize=7, bbox=box)
    for place, each in zip(places, findings, strict=True):
        if each.lo is not None and each.hi is not None:
            axes.plot([place + width / 2] * 2, [each.lo, each.hi], color=style.BLACK, linewidth=1)
    axes.set_xticks(list(places), [each.name for each in findings])
    axes.set(
        xlabel="Flow (black line: accepted range)",
        ylabel="Goodput (Gb/s)",
        title="Sender-limited traffic: A sends to B, C, D and E; F to E",
    )
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left")
    return figure


def fig22(experiment: Experiment) -> Figure:
    """Throughput of every flow by rank while a link has a tenth of its rate, ours and published."""
    figure, axes = pyplot.subplots(figsize=(6.0, 5.0), layout="constrained")
    ours = {
        "penalty": ("NDP, path penalty", style.BLUE),
        "no-penalty": ("NDP, no path penalty", style.SKY),
    }
    for series, (name, colour) in ours.items():
        runs = experiment.series().get(series, [])
        ranked = [sorted(run.throughput_gbps()) for run in runs]
        if not ranked:
            raise MalformedResult(f"{experiment.folder}: no series {series!r}")
        same_length(series, ranked)
        for throughput in ranked:
            axes.plot(throughput, color=colour, linewidth=0.6, alpha=0.35)
        mean = [fmean(at_rank) for at_rank in zip(*ranked, strict=True)]
        axes.plot(mean, color=colour, label=f"{name}, simulated ({seeds(runs)})")
    for series in ("mptcp-100", "mptcp-200", "dctcp-100", "dctcp-200"):
        if runs := experiment.series().get(series, []):
            ranked = [sorted(run.throughput_gbps()) for run in runs]
            same_length(series, ranked)
            mean = [fmean(at_rank) for at_rank in zip(*ranked, strict=True)]
            line, label = (
                style.line_of(series),
                f"{style.name_of(series)}, simulated ({seeds(runs)})",
            )
            axes.plot(mean, color=style.colour_of(series), linestyle=line, label=label)
    published = {
        "ndp_penalty_gbps": ("NDP, path penalty", style.BLACK, "--"),
        "ndp_no_penalty_gbps": ("NDP, no path penalty", style.BLACK, ":"),
        "mptcp_gbps": ("MPTCP", style.PROTOCOLS["mptcp"], "--"),
        "dctcp_gbps": ("DCTCP", style.PROTOCOLS["dctcp"], "--"),
    }
    for column, (name, colour, line) in published.items():
        reference = experiment.reference.get(column)
        if reference:
            label = f"{name}, authors' htsim"
            axes.plot(reference, color=colour, linewidth=1.2, linestyle=line, label=label)
    axes.set(
        xlabel="Flow, by rank of throughput",
        ylabel="Goodput (Gb/s)",
        ylim=(0, 1.02 * experiment.runs[0].host_link.gbps),
        xlim=(0, None),
    )
    figure.suptitle("Permutation while one link from a core has 1 Gb/s")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


#: Every figure that can be drawn.
FIGURES: dict[str, Callable[[Experiment], Figure]] = {
    "ndp/fig02": sweeps.fig02,
    "ndp/fig03": packets.fig03,
    "ndp/fig04": packets.fig04,
    "ndp/fig11": sweeps.fig11,
    "ndp/fig13": sweeps.fig13,
    "ndp/fig14": fig14,
    "ndp/fig15": transfers.fig15,
    "ndp/fig16": fig16,
    "ndp/fig17": sweeps.fig17,
    "ndp/fig19": transfers.fig19,
    "ndp/fig20": sweeps.fig20,
    "ndp/fig21": fig21,
    "ndp/fig22": fig22,
    "ndp/fig23": transfers.fig23,
    "ndp/sec323": packets.sec323,
    "ndp/sec611": sweeps.sec611,
    "ndp/sec62scale": sweeps.sec62scale,
}

#: Experiments that are a few numbers, and no figure.
TABLES = frozenset({"ndp/base"})


def ndp_first(experiment: Experiment) -> list[tuple[str, list[Run]]]:
    """The series of NDP, which are often named after their switch, in front of the others."""
    series = experiment.series().items()
    return sorted(series, key=lambda each: style.protocol_of(each[0]) not in ("", "ndp"))


def plot_seeds(
    axes: Axes,
    runs: Sequence[Run],
    value: Callable[[Run], float],
    colour: str,
    label: str,
    linestyle: str = "-",
) -> None:
    """A value by number of senders: each seed a light line, their mean a strong one."""
    by_seed: dict[int, list[tuple[int, float]]] = {}
    by_count: dict[int, list[float]] = {}
    for run in runs:
        count, here = len(run.flows), value(run)
        by_seed.setdefault(run.seed, []).append((count, here))
        by_count.setdefault(count, []).append(here)
    for points in by_seed.values():
        senders, values = zip(*sorted(points), strict=True)
        axes.plot(senders, values, color=colour, linestyle=linestyle, linewidth=0.6, alpha=0.35)
    counts = sorted(by_count)
    mean = [fmean(by_count[count]) for count in counts]
    axes.plot(counts, mean, color=colour, linestyle=linestyle, label=f"{label} ({seeds(runs)})")


def prioritised(run: Run) -> bool:
    """Whether one sender of the series is pulled before the others."""
    return "priorit" in run.series.lower()


def preferred_ms(run: Run) -> float:
    """FCT of the preferred sender, in ms."""
    return run.fct_ms(rarest_workload(run))[-1]


def rarest_workload(run: Run) -> str:
    """The workload with the fewest flows: the preferred sender's."""
    names = sorted({flow.workload for flow in run.flows})
    return min(names, key=lambda name: sum(flow.workload == name for flow in run.flows))


def same_length(series: str, ranked: Sequence[Sequence[float]]) -> None:
    """Ranks can be averaged only over runs of as many flows."""
    if len({len(each) for each in ranked}) != 1:
        raise MalformedResult(f"series {series!r}: its seeds differ in their number of flows")
