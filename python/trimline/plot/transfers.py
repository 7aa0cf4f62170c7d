"""Figures of how long transfers take beside other traffic, and of one link over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import marked, marked_at, of_series, place, seeds
from trimline.plot.results import Experiment, Run

#: The link of Figure 19, and when its incast begins.
PORT = "tor 0 down 1"
INCAST_MS = 20.0
#: Its series, from the top.
OF_FIG19 = ("dctcp", "dcqcn", "dcqcn-window", "dcqcn-window-htsim", "ndp")
#: Throughput is shown over intervals of this length.
INTERVAL_MS = 0.5


def cumulative(axes: Axes, runs: Sequence[Run], workload: str | None, scale: float) -> None:
    """The share of flows that took no longer, over all seeds; some may not have ended."""
    flows = [
        flow for run in runs for flow in run.flows if workload is None or flow.workload == workload
    ]
    times = sorted(flow.fct_receiver_ps for flow in flows if flow.fct_receiver_ps is not None)
    if not times:
        raise MalformedResult(f"{runs[0].folder}: no flow ended")
    shares = [(number + 1) / len(flows) for number in range(len(times))]
    series = runs[0].series
    axes.step(
        [time / scale for time in times],
        shares,
        where="post",
        color=style.colour_of(series),
        linestyle=style.line_of(series),
        label=f"{style.name_of(series)}, simulated ({seeds(runs)})",
    )


def fig15(experiment: Experiment) -> Figure:
    """FCT of 90 KB beside long flows: the distribution of each protocol."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.6), layout="constrained")
    for runs in experiment.series().values():
        cumulative(axes, runs, "short", 1e6)
    flows = [flow for run in experiment.runs for flow in run.flows if flow.workload == "short"]
    ideals = [flow.ideal_fct_ps for flow in flows if flow.ideal_fct_ps is not None]
    if ideals:
        marked_at(axes, max(ideals) / 1e6, "idle network", height=0.9)
    axes.set(
        xlabel="Flow completion time (µs)",
        ylabel="Share of transfers",
        xscale="log",
        ylim=(0, 1.02),
    )
    axes.xaxis.set_major_formatter("{x:g}")
    figure.suptitle("90 KB beside four long flows from every other host, 432 hosts")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def fig23(experiment: Experiment) -> Figure:
    """FCT of web traffic, two loads: the distribution of each protocol."""
    loads = sorted({place(run, "flows") for run in experiment.runs})
    figure, panels = pyplot.subplots(
        1, len(loads), sharey=True, squeeze=False, figsize=(7.2, 3.8), layout="constrained"
    )
    for axes, load in zip(panels[0], loads, strict=True):
        for runs in experiment.series().values():
            cumulative(axes, [run for run in runs if place(run, "flows") == load], None, 1e9)
        axes.set(
            xlabel="Flow completion time (ms)",
            xscale="log",
            ylim=(0, 1.02),
            title=f"{load:g} connections a host",
        )
        axes.xaxis.set_major_formatter("{x:g}")
    panels[0][0].set_ylabel("Share of flows")
    panels[0][0].legend(loc="upper left")
    figure.suptitle("Facebook's web traffic, 512 hosts, 4:1 oversubscribed")
    return figure


def gbps(run: Run, taken: Callable[[dict[str, str]], bool]) -> tuple[list[float], list[float]]:
    """The rate of whole data packets on the link over time: times in ms, Gb/s on the wire."""
    bits: dict[int, int] = {}
    for row in run.rows("timeline"):
        if (row["event"], row["packet"], row["place"]) == ("depart", "data", PORT) and taken(row):
            interval = int(int(row["time_ps"]) / 1e9 / INTERVAL_MS)
            bits[interval] = bits.get(interval, 0) + 8 * int(row["wire_bytes"])
    if not bits:
        raise MalformedResult(f"{run.folder}: nothing left at {PORT}")
    # The last interval is not over.
    places = range(min(bits), max(bits))
    times = [(each + 0.5) * INTERVAL_MS for each in places]
    return times, [bits.get(each, 0) / INTERVAL_MS / 1e6 for each in places]


def fig19(experiment: Experiment) -> Figure:
    """Throughput of the long flow beside the incast over time: a seed a line, a size a column."""
    there = experiment.series()
    names = [name for name in OF_FIG19 if name in there or name in ("dctcp", "ndp")]
    sizes = [size for size in ("", "-450KB") if f"ndp{size}" in there or not size]
    figure, panels = pyplot.subplots(
        len(names),
        len(sizes),
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(2.0 + 4.0 * len(sizes), 1.2 + 1.7 * len(names)),
        layout="constrained",
    )
    for name, row in zip(names, panels, strict=True):
        for size, axes in zip(sizes, row, strict=True):
            runs = of_series(experiment, name + size)
            for run in runs:
                times, rates = gbps(run, lambda event: event["workload"] == "long")
                axes.plot(times, rates, color=style.colour_of(name), linewidth=0.9, alpha=0.6)
            bytes_each = max(flow.size_bytes or 0 for flow in runs[0].flows)
            each = f" {bytes_each // 1000} KB each" if bytes_each else ""
            marked_at(axes, INCAST_MS, f"64 hosts send{each} to the neighbour", 0.9)
            rate = runs[0].host_link.gbps
            marked(axes, rate, "full link", right=True)
            axes.set(ylim=(0, 1.25 * rate), title=f"{style.name_of(name)}, simulated")
        row[0].set_ylabel("Gb/s")
    for axes in panels[-1]:
        axes.set_xlabel("Time (ms)")
    figure.suptitle("A long flow beside an incast to its neighbour")
    return figure


def coexist(experiment: Experiment) -> Figure:
    """The shares of NDP and TCP in one link, for every mixture of flows: the mean over seeds."""
    figure, axes = pyplot.subplots(layout="constrained")
    series = experiment.series().items()
    shown = sorted(
        (each for each in series if not each[0].endswith("its-end")),
        key=lambda each: each[0] == "one-queue",
    )
    for shift, workload in ((-0.2, "ndp"), (0.2, "tcp")):
        shares = [
            fmean(
                run.link_percent(
                    sum(
                        flow.measured_bytes * 8_000 / run.measured_ps
                        for flow in run.flows
                        if flow.workload == workload
                    )
                )
                for run in runs
            )
            for _, runs in shown
        ]
        drawn = axes.bar(
            [place + shift for place in range(len(shown))],
            shares,
            0.38,
            color=style.PROTOCOLS[workload],
            label=f"{style.NAMES[workload]}, simulated ({seeds(shown[0][1])})",
        )
        axes.bar_label(drawn, fmt="%.0f", fontsize=7)
    axes.axhline(50, color=style.GREY, linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(shown)), [name.replace("-", "\n", 3) for name, _ in shown])
    axes.tick_params(axis="x", labelsize=7)
    axes.set(
        ylabel="Goodput of all flows (% of the link)",
        ylim=(0, 115),
        title="NDP and TCP into one port, each in a queue of its own but the last",
    )
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", ncols=2)
    return figure
