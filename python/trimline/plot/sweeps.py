"""Figures over a sweep: senders, initial windows, sizes, hosts."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure

from trimline.plot import style
from trimline.plot.incast import Ideal
from trimline.plot.lines import marked, marked_at, of_series, over, place, seeds
from trimline.plot.results import Experiment, Run

#: Of queue sizes, from small to large.
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#000000")
MARKS = ("v", "o", "s", "x")


def fig02(experiment: Experiment) -> Figure:
    """Share of the fair rate by number of unresponsive senders, CP and NDP: mean, slowest tenth."""
    figure, panels = pyplot.subplots(1, 2, sharey=True, figsize=(7.2, 3.6), layout="constrained")
    for axes, payload in zip(panels, (9000, 1500), strict=True):
        for protocol, name, colour in (("ndp", "NDP", style.BLUE), ("cp", "CP", style.VERMILION)):
            runs = of_series(experiment, f"{protocol}-{payload}")
            for value, words, line in (
                (mean_share, "mean", "-"),
                (slow_share, "slowest tenth", "--"),
            ):
                axes.plot(
                    *over(runs, lambda run: place(run, "senders"), value),
                    color=colour,
                    linestyle=line,
                    marker=".",
                    label=f"{name}, {words}",
                )
        # Ten headers to one packet.
        link = of_series(experiment, f"ndp-{payload}")[0].host_link
        bound = 100 * link.payload_bytes / (link.payload_bytes + 11 * link.header_bytes)
        marked(axes, bound, f"10 headers to a packet: {bound:.1f} %", right=True)
        axes.set(
            xlabel="Unresponsive senders at line rate",
            title=f"Packets of {payload} B",
            ylim=(0, 105),
            xlim=(0, None),
        )
    panels[0].set_ylabel("Goodput (% of the fair share)")
    runs = of_series(experiment, "ndp-9000")
    figure.suptitle(
        f"Senders that do not slow down, one link of {runs[0].host_link.gbps:g} Gb/s "
        f"(simulated, {seeds(runs)})"
    )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def mean_share(run: Run) -> float:
    """Mean goodput in percent of the fair share of the link."""
    goodputs = run.throughput_gbps()
    return run.link_percent(fmean(goodputs) * len(goodputs))


def slow_share(run: Run) -> float:
    """Mean goodput of the slowest tenth (at least one flow) in percent of the fair share."""
    goodputs = sorted(run.throughput_gbps())
    return run.link_percent(fmean(goodputs[: -(-len(goodputs) // 10)]) * len(goodputs))


def goodput(run: Run) -> float:
    """Mean goodput of the flows, Gb/s."""
    return run.number("goodput_gbps", "mean")


def goodput_percent(run: Run) -> float:
    """Mean goodput of the flows, in percent of a host's link."""
    return run.link_percent(goodput(run))


def percent_of_link(experiment: Experiment) -> str:
    """The label of an axis of goodputs in percent of a host's link."""
    return f"Goodput (% of {experiment.runs[0].host_link.gbps:g} Gb/s)"


def fig11(experiment: Experiment) -> Figure:
    """Throughput back to back by initial window: pull spacing, and hosts that take time."""
    figure, axes = pyplot.subplots(layout="constrained")
    link = of_series(experiment, "simulated")[0].host_link
    full = link.full_gbps
    marked(axes, full, f"full link {full:.2f} Gb/s")
    series = (
        ("simulated", "perfect pull spacing", style.BLUE, "-"),
        ("simulated-hosts", "hosts take 12 us a round trip", style.ORANGE, "-"),
        ("simulated-hosts-spread", "hosts take 8 to 16 us", style.PURPLE, "--"),
        ("simulated-drawn", "drawn pull spacing (synthetic)", style.VERMILION, "--"),
        ("simulated-measured", "drawn pull spacing (measured)", style.GREEN, ":"),
    )
    for name, words, colour, line in series:
        # A measured distribution is there or not.
        if name == "simulated-measured" and name not in experiment.series():
            continue
        runs = of_series(experiment, name)
        places, values = over(runs, lambda run: place(run, "initial_window"), goodput)
        axes.plot(
            places,
            values,
            color=colour,
            linestyle=line,
            marker=".",
            label=f"NDP simulated, {words}",
        )
    marked_at(axes, 15, "paper: the simulator is full at 15", 0.1)
    marked_at(axes, 25, "paper: the Linux stack at 25")
    axes.set(
        xlabel=f"Initial window (packets of {link.payload_bytes} B)",
        ylabel="Goodput (Gb/s)",
        ylim=(0, 1.05 * link.gbps),
        xlim=(0, None),
        title="Two hosts back to back, fifteen packets of cable",
    )
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.2))
    return figure


def fig13(experiment: Experiment) -> Figure:
    """The cost of drawn pull spacing: last FCT of an incast by size, and a permutation by rank."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
    kinds = (
        ("perfect", "perfect", style.BLUE, "-", "o"),
        ("drawn", "synthetic", style.VERMILION, "--", "x"),
        ("measured", "measured", style.GREEN, ":", "+"),
    )
    for kind, name, colour, line, marker in kinds:
        if kind == "measured" and f"incast-{kind}" not in experiment.series():
            continue
        runs = of_series(experiment, f"incast-{kind}")
        sizes, values = over(runs, lambda run: place(run, "size"), lambda run: run.fct_ms()[-1])
        words = f"{name} spacing ({seeds(runs)})"
        left.plot(
            sizes, values, color=colour, linestyle=line, marker=marker, markersize=5, label=words
        )
        runs = of_series(experiment, f"permutation-{kind}")
        ranked = [sorted(run.throughput_gbps()) for run in runs]
        mean = [fmean(at_rank) for at_rank in zip(*ranked, strict=True)]
        right.plot(mean, color=colour, linestyle=line, label=f"{name}: mean {fmean(mean):.2f} Gb/s")
    left.set(
        xlabel="Size of each of 200 flows (KB)",
        ylabel="Last flow completion time (ms)",
        title="Incast of 200, packets of 9000 B",
        xscale="log",
        yscale="log",
    )
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter("{x:g}")
    left.legend(loc="upper left")
    right.set(
        xlabel="Flow, by rank of throughput",
        ylabel="Goodput (Gb/s)",
        title="Permutation, packets of 1500 B",
        ylim=(0, 10),
        xlim=(0, None),
    )
    right.legend(loc="lower right")
    figure.suptitle("Pulls spaced perfectly and by two distributions, 432 hosts, simulated")
    return figure


def fig17(experiment: Experiment) -> Figure:
    """Throughput of a permutation by initial window, for data queues of several sizes."""
    figure, panels = pyplot.subplots(
        2, 2, sharex=True, sharey=True, figsize=(7.2, 5.6), layout="constrained"
    )
    for row, hosts in zip(panels, (128, 432), strict=True):
        for axes, payload in zip(row, (9000, 1500), strict=True):
            runs = of_series(experiment, f"{hosts}-{payload}")
            queues = sorted({place(run, "data_queue") for run in runs})
            for queue, colour, mark in zip(queues, SHADES, MARKS, strict=False):
                own = [run for run in runs if place(run, "data_queue") == queue]
                places, values = over(
                    own, lambda run: place(run, "initial_window"), goodput_percent
                )
                label = f"{queue:g} packets"
                axes.plot(places, values, color=colour, marker=mark, markersize=4, label=label)
            if payload == 9000:
                words = "paper: above 95 % with 8 packets\nand IW 20 or more"
                axes.axhline(95, color=style.VERMILION, linewidth=0.9, linestyle=":", label=words)
                words = "paper: about 90 % with 6"
                axes.axhline(90, color=style.VERMILION, linewidth=0.9, linestyle="--", label=words)
            axes.set(title=f"{hosts} hosts, packets of {payload} B", ylim=(0, 104), xlim=(0, None))
    for axes in panels[:, 0]:
        axes.set_ylabel(percent_of_link(experiment))
    for axes in panels[1]:
        axes.set_xlabel("Initial window (packets)")
    panels[0][0].legend(loc="lower right", title="Data queue")
    figure.suptitle(f"Permutation, NDP, simulated ({seeds(experiment.runs)})")
    return figure


def fig20(experiment: Experiment) -> Figure:
    """A very large incast: the last flow over the ideal, and retransmissions by cause."""
    figure, (above, below) = pyplot.subplots(
        2, sharex=True, figsize=(6.4, 6.0), layout="constrained"
    )
    columns = experiment.reference

    def published(window: int, column: str) -> list[tuple[float, float]]:
        rows = zip(columns["initial_window"], columns["senders"], columns[column], strict=True)
        return [(senders, value) for own, senders, value in rows if own == window]

    def flows(run: Run) -> float:
        return run.number("flows", "total")

    windows = ((1, style.ORANGE), (10, style.GREEN), (23, style.BLUE))
    for window, colour in windows:
        runs = of_series(experiment, f"window-{window}")
        # The largest has the farthest sender.
        ideal = Ideal.of([max(runs, key=flows)])

        def over_ideal(run: Run, ideal: Ideal = ideal) -> float:
            return ideal.over_percent(run.number("fct_receiver_us", "max") / 1e3, flows(run))

        places, values = over(runs, flows, over_ideal)
        above.plot(places, values, color=colour, label=f"IW {window}, simulated", **dots(places))
        if columns:
            last = published(window, "fct_max_s")
            points = [(n, ideal.over_percent(seconds * 1e3, n)) for n, seconds in last]
            above.plot(*zip(*points, strict=True), ".", color=colour, markersize=3, alpha=0.6)
    above.plot([], [], ".", color=style.GREY, markersize=4, label="authors' htsim")
    above.set(ylabel="Last flow over the ideal (%)", yscale="symlog", ylim=(-0.05, 1000))
    above.set_yscale("symlog", linthresh=0.1)
    above.yaxis.set_major_formatter("{x:g}")
    above.legend(loc="upper right")

    runs = of_series(experiment, "window-23")
    causes = (
        ("nack", "rtx_nack", "NACK", style.VERMILION),
        ("return", "rtx_return_to_sender", "return to sender", style.PURPLE),
    )
    for cause, column, words, colour in causes:

        def resent_for(run: Run, cause: str = cause) -> float:
            return run.number("retransmissions", cause) / run.number("packets_delivered")

        resent = over(runs, flows, resent_for)
        label = f"because of {words}, simulated"
        below.plot(*resent, color=colour, label=label, **dots(resent[0]))
        if columns:
            points = [(n, value / (30 * n)) for n, value in published(23, column)]
            below.plot(*zip(*points, strict=True), ".", color=colour, markersize=3, alpha=0.6)
    below.plot([], [], ".", color=style.GREY, markersize=4, label="authors' htsim")
    below.set(
        xlabel="Senders",
        ylabel="Retransmissions per packet, IW 23",
        xscale="log",
        ylim=(0, None),
    )
    below.xaxis.set_major_formatter("{x:g}")
    below.legend(loc="upper left")
    figure.suptitle("Incast of 270 KB to one of 8192 hosts")
    return figure


def dots(places: Sequence[float]) -> dict[str, Any]:
    """Shows the places of a line that has few: the line between them was not measured."""
    return {"marker": "s", "markersize": 4, "markerfacecolor": "white"} if len(places) < 30 else {}


def sec62scale(experiment: Experiment) -> Figure:
    """Mean throughput of a permutation by number of hosts, with the paper's numbers and ranges."""
    figure, axes = pyplot.subplots(layout="constrained")
    sizes = {int(name.rsplit("-", 1)[-1]): runs for name, runs in experiment.series().items()}
    hosts = sorted(sizes)
    mean = [fmean(goodput_percent(run) for run in sizes[size]) for size in hosts]
    smallest = [
        fmean(run.link_percent(run.number("goodput_gbps", "min")) for run in sizes[size])
        for size in hosts
    ]
    axes.plot(hosts, mean, color=style.BLUE, marker="o", label="NDP mean, simulated")
    axes.plot(
        hosts,
        smallest,
        color=style.SKY,
        marker=".",
        linestyle="--",
        label="NDP slowest flow, simulated",
    )
    paper = []
    for finding in experiment.findings:
        size = next((size for size in hosts if f" {size} hosts" in finding.name), None)
        if size is None:
            continue
        if finding.paper is not None:
            paper.append((size, finding.paper))
        if finding.lo is not None and finding.hi is not None:
            axes.plot([size] * 2, [finding.lo, finding.hi], color=style.BLACK, linewidth=1)
    if paper:
        axes.plot(
            *zip(*paper, strict=True),
            color=style.BLACK,
            marker="x",
            linestyle="none",
            label="NDP mean, paper (line: accepted range)",
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(hosts, [str(size) for size in hosts])
    axes.minorticks_off()
    axes.set(
        xlabel="Hosts",
        ylabel=percent_of_link(experiment),
        ylim=(60, 100),
        title="Permutation on FatTrees of growing size, IW 30",
    )
    axes.legend(loc="lower left")
    return figure


def sec611(experiment: Experiment) -> Figure:
    """Mean throughput of a permutation by the number of hosts that also send to one host of it."""
    figure, axes = pyplot.subplots(figsize=(7.0, 4.8), layout="constrained")

    def utilization(run: Run) -> float:
        chosen = [flow for flow in run.flows if flow.workload == "permutation"]
        gbps = fmean(flow.measured_bytes * 8_000 / run.measured_ps for flow in chosen)
        return run.link_percent(gbps)

    there = experiment.series()
    optional = ("dcqcn", "dcqcn-window", "dcqcn-window-htsim")
    for series in ("ndp", "dctcp", *(name for name in optional if name in there)):
        runs = of_series(experiment, series)
        places, values = over(runs, lambda run: place(run, "senders"), utilization)
        label = f"{style.name_of(series)}, simulated ({seeds(runs)})"
        axes.plot(places, values, color=style.colour_of(series), marker="o", label=label)
    # The paper has one number for each protocol, whatever the number of senders.
    papers = {
        finding.name.split()[0].strip(":").lower(): finding.paper
        for finding in experiment.findings
        if finding.paper is not None
    }
    for protocol, paper in papers.items():
        axes.axhline(
            paper,
            color=style.colour_of(protocol),
            linewidth=0.9,
            linestyle="--",
            label=f"{style.name_of(protocol)}, paper",
        )
    axes.set(
        xlabel="Senders of the incast",
        ylabel=f"Permutation: {percent_of_link(experiment).lower()}".replace("gb/s", "Gb/s"),
        ylim=(0, 100),
    )
    figure.suptitle("A long-lived incast beside a permutation, 432 hosts")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
