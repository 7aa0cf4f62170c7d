"""Figures of how long transfers take beside other traffic, and of one link over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    figure, axes = pyplot.subplots(layout="constrained")
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
        title="90 KB beside four long flows from every other host, 432 hosts",
    )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(loc="lower right")
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
    """What whole data packets took of the link over time: times in ms, Gb/s on the wire."""
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
    """Throughput of the long flow over time beside the incast: each seed a line."""
    names = ("dctcp", "ndp")
    figure, panels = pyplot.subplots(
        len(names), sharex=True, figsize=(6.0, 4.6), layout="constrained"
    )
    for axes, name in zip(panels, names, strict=True):
        for run in of_series(experiment, name):
            times, rates = gbps(run, lambda row: row["workload"] == "long")
            axes.plot(times, rates, color=style.colour_of(name), linewidth=0.9, alpha=0.6)
        marked_at(axes, INCAST_MS, "64 hosts send to the neighbour")
        rate = of_series(experiment, name)[0].host_link.gbps
        marked(axes, rate, "full link", right=True)
        axes.set(ylabel="Gb/s", ylim=(0, 1.1 * rate), title=f"{style.name_of(name)}, simulated")
    panels[-1].set_xlabel("Time (ms)")
    figure.suptitle("A long flow beside an incast to its neighbour")
    return figure
