"""HULL's figures of long flows into one port, and slowdowns by size."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import place
from trimline.plot.results import Experiment, Flow, Run

#: The schemes of Figure 8: series, words, colour.
SCHEMES = (
    ("tcp", "TCP", style.VERMILION),
    ("tcp-64k-window", "TCP, windows of 64 KB", style.ORANGE),
    ("dctcp-30k", "DCTCP, marks above 30 KB", style.PURPLE),
    ("dctcp-6k-pacer", "DCTCP, marks above 6 KB, pacer", style.GREEN),
    ("pq950-pacer", "phantom queue of 950 Mb/s, pacer", style.BLUE),
    ("pq950", "phantom queue of 950 Mb/s", style.BLACK),
)
#: Number of size ranges in which messages are put together, for a factor of ten.
RANGES_A_DECADE = 4


def waits_us(run: Run, workload: str = "probe") -> list[float]:
    """Waiting time of each packet of a workload beyond the ideal, ascending, in us."""
    waits = [
        (flow.fct_receiver_ps - flow.ideal_fct_ps) / 1e6
        for flow in run.flows
        if flow.workload == workload and flow.fct_receiver_ps and flow.ideal_fct_ps
    ]
    if not waits:
        raise MalformedResult(f"{run.folder}: no {workload} arrived")
    return sorted(waits)


def quantile(ascending: Sequence[float], percent: int) -> float:
    """By nearest rank."""
    return ascending[-(-percent * len(ascending) // 100) - 1]


def goodput_mbps(run: Run) -> float:
    """Payload of all flows but the probe."""
    taken = sum(flow.measured_bytes for flow in run.flows if flow.workload == "flows")
    return taken * 8e6 / run.measured_ps


def latencies(
    axes: Axes, places: Sequence[float], runs: Sequence[Run], colour: str, words: str
) -> None:
    """Mean and 99th percentile of what probes waited."""
    waits = [waits_us(run) for run in runs]
    axes.plot(places, [fmean(each) for each in waits], color=colour, marker=".", label=words)
    axes.plot(places, [quantile(each, 99) for each in waits], color=colour, linestyle="--")


def fig08(experiment: Experiment) -> Figure:
    """Throughput and latency by number of flows, one line a scheme."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 4.6), layout="constrained")
    for name, words, colour in SCHEMES:
        runs = sorted(experiment.series().get(name, []), key=lambda run: place(run, "senders"))
        if not runs:
            continue
        counts = [place(run, "senders") for run in runs]
        left.plot(
            counts, [goodput_mbps(run) for run in runs], color=colour, marker=".", label=words
        )
        latencies(right, counts, runs, colour, words)
    left.set(xlabel="Long flows", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    right.set(xlabel="Long flows", ylabel="Wait at the port (µs)", yscale="log")
    right.set_title("solid: mean; dashed: 99th percentile", fontsize=8)
    right.yaxis.set_major_formatter("{x:g}")
    figure.suptitle("Long flows into one port of 1 Gb/s")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def fig02(experiment: Experiment) -> Figure:
    """Throughput and latency of two flows by the drain of a phantom queue."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained")
    for prefix, words, colour in (
        ("dctcp", "DCTCP", style.colour_of("dctcp")),
        ("tcp-ecn", "TCP with ECN", style.colour_of("tcp")),
    ):
        named = {
            float(name.rpartition("-")[2]): runs[0]
            for name, runs in experiment.series().items()
            if name.rpartition("-")[0] == prefix
        }
        if not named:
            continue
        drains = sorted(named)
        runs = [named[drain] for drain in drains]
        left.plot(
            drains, [goodput_mbps(run) for run in runs], color=colour, marker=".", label=words
        )
        latencies(right, drains, runs, colour, words)
    link = experiment.runs[0].host_link
    full = [700.0, 950.0]
    share = link.payload_bytes / (link.payload_bytes + link.header_bytes)
    left.plot(
        full, [drain * share for drain in full], color=style.GREY, linestyle=":", label="the drain"
    )
    left.set(xlabel="Drain (Mb/s)", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    right.set(xlabel="Drain (Mb/s)", ylabel="Wait at the port (µs)", ylim=(0, None))
    right.set_title("solid: mean; dashed: 99th percentile", fontsize=8)
    left.legend(loc="lower right")
    figure.suptitle("Two long flows over a phantom queue of 6 KB")
    return figure


def fig05(experiment: Experiment) -> Figure:
    """Throughput and latency by drain: with pacers and without, a line a threshold."""
    figure, panels = pyplot.subplots(
        2, 4, figsize=(13.6, 7.2), sharex=True, sharey="row", layout="constrained"
    )
    colours = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE)
    series = (
        ("paced", "with pacers"),
        ("unpaced", "without"),
        ("paced-bursts", "with pacers, bursty hosts"),
        ("unpaced-bursts", "without, bursty hosts"),
    )
    for (name, words), (above, below) in zip(series, panels.T, strict=True):
        runs = experiment.series().get(name, [])
        thresholds = sorted({place(run, "threshold") for run in runs})
        for threshold, colour in zip(thresholds, colours, strict=False):
            at = [run for run in runs if place(run, "threshold") == threshold]
            at.sort(key=lambda run: place(run, "drain_rate"))
            drains = [place(run, "drain_rate") for run in at]
            label = f"{threshold:g} KB"
            rates = [goodput_mbps(run) for run in at]
            above.plot(drains, rates, color=colour, marker=".", label=label)
            latencies(below, drains, at, colour, label)
        above.set_title(words)
        below.set(xlabel="Drain (Mb/s)", yscale="log")
        panels[0][0].set_ylabel("Goodput (Mb/s)")
    panels[1][0].set_ylabel("Wait at the port (µs)")
    panels[0][0].legend(loc="upper left", title="Threshold", ncols=2)
    figure.suptitle(
        "Two long flows of DCTCP over a phantom queue; below: mean, dashed 99th percentile"
    )
    return figure


def fig06(experiment: Experiment) -> Figure:
    """Latency of the switch, round trips and throughput by beta."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 4.0), layout="constrained")
    for name, words, line in (("paced", "", "-"), ("bursts", ", bursty hosts", ":")):
        runs = experiment.series().get(name, [])
        runs = sorted(runs, key=lambda run: place(run, "backlog_gain"))
        gains = [place(run, "backlog_gain") for run in runs]
        for workload, colour, label in (
            ("ping", style.VERMILION, "pings: pacer and switch"),
            ("probe", style.BLUE, "switch"),
        ):
            waits = [fmean(waits_us(run, workload)) for run in runs]
            left.plot(gains, waits, color=colour, marker=".", linestyle=line, label=label + words)
        rates = [goodput_mbps(run) for run in runs]
        right.plot(gains, rates, color=style.BLUE, marker=".", linestyle=line)
    left.set(xlabel="β", ylabel="Mean wait (µs)", ylim=(0, None))
    left.legend(loc="upper right", fontsize=7)
    right.set(xlabel="β", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    figure.suptitle("Two paced flows over a phantom queue of 950 Mb/s and 1 KB")
    return figure


def fig09(experiment: Experiment) -> Figure:
    """Latency by number of flows, packets of 1500 and 300 B."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained")
    for name, words, colour in (
        ("mtu-1500", "packets of 1500 B", style.VERMILION),
        ("mtu-300", "packets of 300 B", style.BLUE),
    ):
        runs = experiment.series().get(name, [])
        runs = sorted(runs, key=lambda run: place(run, "senders"))
        counts = [place(run, "senders") for run in runs]
        latencies(left, counts, runs, colour, words)
        rates = [goodput_mbps(run) for run in runs]
        right.plot(counts, rates, color=colour, marker=".", label=words)
    left.set(xlabel="Long flows", ylabel="Wait at the port (µs)", ylim=(0, None))
    left.set_title("solid: mean; dashed: 99th percentile", fontsize=8)
    right.set(xlabel="Long flows", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    left.legend(loc="upper left")
    figure.suptitle("More flows over a phantom queue of 800 Mb/s and 1 KB, pacers")
    return figure


def by_size(flows: Sequence[Flow]) -> dict[float, list[float]]:
    """Slowdowns at the receiver by the upper end of a range of sizes, each ascending."""
    found: dict[float, list[float]] = {}
    for flow in flows:
        if flow.size_bytes and flow.fct_receiver_ps and flow.ideal_fct_ps:
            end, step = 1.0, 10 ** (1 / RANGES_A_DECADE)
            while end < flow.size_bytes:
                end *= step
            found.setdefault(end, []).append(flow.fct_receiver_ps / flow.ideal_fct_ps)
    return {end: sorted(found[end]) for end in sorted(found)}


def homa_file(experiment: Experiment) -> Figure:
    """Slowdown of another transport by size of message, a panel a workload."""
    transport = style.name_of(experiment.identifier.split("/")[0])
    return slowdowns(experiment, ("w1", "w2", "w5"), f"{transport} on Homa's network")


def homa(experiment: Experiment) -> Figure:
    """Slowdown of Homa by size of message; the workload is the experiment's name."""
    workload = next(iter(experiment.series())).split("-")[0]
    return slowdowns(experiment, (workload,), "Homa on its authors' network")


def slowdowns(experiment: Experiment, workloads: Sequence[str], title: str) -> Figure:
    """Slowdown by size of message at two loads, a panel a workload."""
    size = (1.4 + 3.0 * len(workloads), 4.0)
    figure, grid = pyplot.subplots(
        1, len(workloads), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    panels = list(grid[0])
    for axes, workload in zip(panels, workloads, strict=True):
        for load, colour in (("50", style.BLUE), ("80", style.VERMILION)):
            runs = experiment.series().get(f"{workload}-{load}")
            if not runs:
                continue
            sizes = by_size(runs[0].flows)
            ends = list(sizes)
            words = f"load of {load} %"
            axes.plot(
                ends, [median(sizes[end]) for end in ends], color=colour, marker=".", label=words
            )
            axes.plot(
                ends, [quantile(sizes[end], 99) for end in ends], color=colour, linestyle="--"
            )
        axes.set(xlabel="Size (B)", xscale="log", yscale="log", title=workload.upper())
        axes.yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("Slowdown at the receiver")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(loc="upper left")
    figure.suptitle(f"{title} (solid: median; dashed: 99th percentile)")
    return figure
