"""One function a figure: what the paper shows, from our runs and from the published numbers.

Here those that show flows; `sweeps` has those that show a sweep, `packets` those that show packets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import (
    detours,
    dynamic,
    evaluation,
    fastlane,
    hosts,
    hull,
    options,
    packets,
    same_work,
    style,
    sweeps,
    transfers,
    trim_to,
    with_long_flows,
)
from trimline.plot.incast import Ideal
from trimline.plot.lines import direct, marked, seeds
from trimline.plot.results import Experiment, Run

#: Series of the paper's own figure, where an experiment has more: all series are another figure.
PAPERS = {
    "ndp/fig14": ("paper", "mptcp-100", "dctcp-100", "dcqcn"),
    "ndp/fig16": ("ndp", "prioritised", "mptcp", "dctcp", "dcqcn"),
}


def draw(experiment: Experiment, folder: Path) -> list[Path]:
    """Draws the figures of an experiment; gives the files written.

    Where the experiment has more series than the paper's figure, all series are another figure,
    NAME-all.
    """
    name = experiment.identifier.replace("/", "-")
    papers = [run for run in experiment.runs if run.series in PAPERS.get(experiment.identifier, ())]
    figures = {name: experiment}
    if papers and len(papers) < len(experiment.runs):
        figures = {name: replace(experiment, runs=tuple(papers)), f"{name}-all": experiment}
    return [path for name, shown in figures.items() for path in draw_one(shown, folder, name)]


def draw_one(experiment: Experiment, folder: Path, name: str) -> list[Path]:
    """Draws one figure."""
    with pyplot.rc_context(style.SETTINGS):
        figure = FIGURES[experiment.identifier](experiment)
        if experiment.tier == "quick":
            style.note(figure, "quick tier")
        elif experiment.tier == "part":
            style.note(figure, "some of the series")
        return style.write(figure, folder, name)


def fig14(experiment: Experiment) -> Figure:
    """Throughput of the flows of a permutation by rank: mean and band of seeds, the published."""
    figure, axes = pyplot.subplots(figsize=(6.4, 5.6), layout="constrained")
    full = experiment.runs[0].host_link.full_gbps
    marked(axes, full, f"full link {full:.2f} Gb/s")
    for series, runs in ndp_first(experiment):
        colour = style.colour_of(series)
        ranked = [sorted(run.throughput_gbps()) for run in runs]
        same_length(series, ranked)
        by_rank = list(zip(*ranked, strict=True))
        mean = [fmean(at_rank) for at_rank in by_rank]
        low, high = ([side(at_rank) for at_rank in by_rank] for side in (min, max))
        axes.fill_between(range(len(mean)), low, high, color=colour, alpha=0.2, linewidth=0)
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
    """An incast by its senders, a panel a question: the last, the first, the preferred flow."""
    figure, panels = pyplot.subplots(
        2, 2, sharex=True, figsize=(10.4, 7.0), layout="constrained", squeeze=False
    )
    (last, over), (first, preferred) = panels
    every = [run for run in experiment.runs if not prioritised(run)]
    counts = sorted({len(run.flows) for run in every})
    ideal = Ideal.of(every)
    ends: dict[Axes, list[tuple[float, float, str, str]]] = {axes: [] for axes in panels.flat}

    def line(axes: Axes, runs: Sequence[Run], value: Callable[[Run], float], name: str) -> None:
        colour = style.PURPLE if prioritised(runs[0]) else style.colour_of(runs[0].series)
        end = plot_seeds(axes, runs, value, colour)
        ends[axes].append((*end, f"{name} ({seeds(runs)})", colour))

    for axes in (last, preferred):
        axes.plot(counts, [ideal.ms(count) for count in counts], color=style.GREY, linestyle=":")
        ends[axes].append((counts[-1], ideal.ms(counts[-1]), "ideal: link never idle", style.GREY))
    for series, runs in ndp_first(experiment):
        if prioritised(runs[0]):
            line(preferred, runs, preferred_ms, "preferred flow")
            continue
        if series.startswith("dctcp-shared-"):
            # The factor's effect is in the table; here it would only hide lines.
            continue
        name = style.name_of(series)
        line(last, runs, lambda run: run.fct_ms()[-1], name)
        line(first, runs, lambda run: run.fct_ms()[0], name)
        line(over, runs, lambda run: ideal.over_percent(run.fct_ms()[-1], len(run.flows)), name)
    ndp = experiment.series().get("ndp")
    if ndp:
        line(preferred, ndp, lambda run: run.fct_ms()[-1], "last of the others")
    reference = experiment.reference
    if reference:
        senders = reference["senders"]
        baseline = {
            panel: [seconds * 1e3 for seconds in reference[column]]
            for panel, column in ((last, "fct_max_s"), (first, "fct_min_s"))
        }
        baseline[over] = [
            ideal.over_percent(fct, n) for n, fct in zip(senders, baseline[last], strict=True)
        ]
        for axes, values in baseline.items():
            axes.plot(
                senders, values, color=style.BLACK, linestyle="none", marker="o", markersize=3
            )
            axes.plot([], [], "o", color=style.BLACK, markersize=3, label="NDP, authors' htsim")
            axes.legend(loc="upper left")
    questions = {
        last: "When is the last flow done?",
        over: "By how much over the ideal?",
        first: "When is the first flow done?",
        preferred: "And one that is pulled before the others?",
    }
    for axes, question in questions.items():
        axes.set_title(question, loc="left")
        axes.set(ylabel="FCT (ms)", yscale="log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlim(0, max(counts) * 1.01)
    over.axhline(0, color=style.GREY, linewidth=0.8, linestyle=":")
    # From a tenth of a percent to the thousands that time-outs cost.
    over.set_yscale("symlog", linthresh=0.1)
    # Above the thousands stands the legend.
    over.set_ylim(0, 5_000)
    over.set_ylabel("Over the ideal (%)")
    over.yaxis.set_major_formatter("{x:g}")
    for axes in (first, preferred):
        axes.set_xlabel("Senders")
    figure.suptitle(f"Incast: each sender {ideal.size_bytes // 1000} KB to one receiver")
    for axes, found in ends.items():
        direct(axes, found)
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
    "beyond/mixed-mtu": options.mixed_mtu,
    "beyond/ndp-congested-cores": options.congested_cores,
    "beyond/ndp-options-cost": options.options_cost,
    "beyond/ndp-small-packets": options.small_packets,
    "beyond/same-work": same_work.figure,
    "beyond/trim-to": trim_to.trim_to,
    "fastlane/eq1": fastlane.eq1,
    "fastlane/fig02": fastlane.fig02,
    "fastlane/fig04": fastlane.fig04,
    "fastlane/fig06": fastlane.fig06,
    "fastlane/fig07": fastlane.fig07,
    "fastlane/fig08": fastlane.fig08,
    "fastlane/fig09": fastlane.fig09,
    "fastlane/fig10": fastlane.caps,
    "fastlane/fig11": fastlane.caps,
    "fastlane/fig12": fastlane.memory,
    "fastlane/fig13": fastlane.memory,
    "fastlane/fig14": fastlane.fig14,
    "fastlane/fig15": fastlane.fig15,
    "fastlane/table2": fastlane.table2,
    "homa/w1": hull.homa,
    "homa/w2": hull.homa,
    "homa/w5": hull.homa,
    "hull/fig02": hull.fig02,
    "hull/fig03": hosts.fig03,
    "hull/fig05": hull.fig05,
    "hull/fig06": hull.fig06,
    "hull/fig08": hull.fig08,
    "hull/fig09": hull.fig09,
    "hull/fig11-bursts": dynamic.fig11_bursts,
    "hull/fig12": dynamic.fig12,
    "hull/table2": hosts.table2,
    "hull/table4": dynamic.table4,
    "ndp-evaluation/fig02": fig14,
    "ndp-evaluation/fig03": evaluation.fig03,
    "ndp-evaluation/seeds50": with_long_flows.seeds50,
    "ndp-evaluation/tables2-9": with_long_flows.tables,
    "ndp/coexist": transfers.coexist,
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
    "opf/dibs-rps": detours.dibs_rps,
    "opf/fig03": detours.fig03,
    "opf/fig04": detours.fig04,
    "opf/fig06": detours.fig06,
    "opf/fig08": detours.fig08,
    "opf/fig10": detours.fig10,
    "opf/map": detours.opf_map,
    "pfabric/homa-file": hull.homa_file,
    "phost/homa-file": hull.homa_file,
}

#: Experiments that are a few numbers, and no figure.
TABLES = frozenset(
    {
        "beyond/detours",
        "beyond/fastlane-phantom",
        "beyond/opf-phantom",
        "homa/aeolus",
        "hull/base",
        "hull/table5",
        "ndp-evaluation/cells",
        "ndp-evaluation/fig12",
        "ndp-evaluation/sec45",
        "ndp/base",
        "ndp/secPhost",
    }
)


def ndp_first(experiment: Experiment) -> list[tuple[str, list[Run]]]:
    """The series of NDP, which are often named after their switch, in front of the others."""
    series = experiment.series().items()
    return sorted(series, key=lambda each: style.protocol_of(each[0]) not in ("", "ndp"))


def plot_seeds(
    axes: Axes, runs: Sequence[Run], value: Callable[[Run], float], colour: str
) -> tuple[float, float]:
    """A value by number of senders: the mean of the seeds, and a band that holds them all.

    Gives where the line ends.
    """
    by_count: dict[int, list[float]] = {}
    for run in runs:
        by_count.setdefault(len(run.flows), []).append(value(run))
    counts = sorted(by_count)
    mean = [fmean(by_count[count]) for count in counts]
    axes.plot(counts, mean, color=colour)
    low, high = ([side(by_count[count]) for count in counts] for side in (min, max))
    axes.fill_between(counts, low, high, color=colour, alpha=0.2, linewidth=0)
    return counts[-1], mean[-1]


def prioritised(run: Run) -> bool:
    """True if one sender of the series is pulled before the others."""
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
