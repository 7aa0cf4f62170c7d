"""HULL's figures of flows that come and go: drawn from the answers of the runs.

Such an experiment has hundreds of runs, or millions of flows. Each run keeps what the findings
asked of it in measures.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult, read_json
from trimline.plot import style
from trimline.plot.results import Experiment, Run

#: Loads of table 4, in percent.
LOADS = (20, 40, 60)
#: Files from this size on are the large ones.
LARGE = {"from": 2000, "below": None}
#: The schemes of table 4: series without its load, words, colour.
SCHEMES = (
    ("tcp", "TCP", style.VERMILION),
    ("dctcp-30k", "DCTCP-30K", style.PURPLE),
    ("dctcp-6k-pacer", "DCTCP-6K-Pacer", style.GREEN),
    ("pq950-pacer", "PQ950-Pacer", style.BLUE),
)
#: Drains of Figure 10, Mb/s.
DRAINS = ((950, style.BLUE), (900, style.GREEN), (800, style.VERMILION))
#: What DCTCP loses below the drain of a phantom queue, of the link (HULL 3.1).
LOST = 0.08
#: The largest slowdown that Figure 10 shows in its place.
MAX = 4.5
#: Payload that a link carries, of its rate: 1450 of 1538 B.
EFFICIENCY = 1450 / 1538


def answer(run: Run, **wanted: Any) -> float:
    """The one number that the run was asked for so: keys and values of its measure."""
    for each in read_json(run.folder / "measures.json")["measures"]:
        measure = each["measure"]
        if all(measure.get(key) == value for key, value in wanted.items()):
            if each["value"] is None:
                break
            return float(each["value"])
    raise MalformedResult(f"{run.folder}: measures.json has no number for {wanted}")


def mean_of(runs: Sequence[Run], **wanted: Any) -> float:
    """The mean over seeds."""
    return fmean(answer(run, **wanted) for run in runs)


def loads_of(experiment: Experiment, scheme: str) -> list[tuple[int, list[Run]]]:
    """The runs of a scheme by load."""
    series = experiment.series()
    return [(load, series[f"{scheme}-{load}"]) for load in LOADS if f"{scheme}-{load}" in series]


def latency(runs: Sequence[Run], reduce: str = "mean") -> float:
    """Waiting time of probes, us."""
    return mean_of(runs, quantity="waiting", workload="probe", reduce=reduce)


def large(runs: Sequence[Run]) -> float:
    """The mean time of 10 MB, ms."""
    return mean_of(runs, quantity="fct", size_bytes=LARGE, reduce="mean")


def table4(experiment: Experiment) -> Figure:
    """Latency by load, slowdown by theory and experiment, and what pacing gains."""
    figure, panels = pyplot.subplots(2, 2, figsize=(9.6, 7.4), layout="constrained")
    (waits, slowdowns), (unpaced, times) = panels
    for scheme, words, colour in SCHEMES:
        found = loads_of(experiment, scheme)
        loads = [load for load, _ in found]
        for reduce, line, label in (("mean", "-", words), ("p99", "--", None)):
            values = [latency(runs, reduce) for _, runs in found]
            waits.plot(loads, values, line, color=colour, marker=".", label=label)
    waits.set(yscale="log", ylabel="Wait at the port (µs)", title="Table 4: mean, dashed: 99th")
    waits.legend(loc="upper left", ncols=2)
    waits.set_ylim(1, 200_000)
    draw_slowdowns(experiment, slowdowns)
    draw_pacing(experiment, unpaced, times)
    for axes in panels.flat:
        axes.set(xlabel="Load (%)", xticks=LOADS)
    figure.suptitle("A client asks nine servers for files of 1 KB and 10 MB over 1 Gb/s")
    return figure


def draw_pacing(experiment: Experiment, waits: Axes, times: Axes) -> None:
    """Figure 11: latency and completion times of large files, with pacers and without."""
    pairs = (("dctcp-6k", "DCTCP-6K", style.GREEN), ("pq950", "PQ950", style.BLUE))
    for scheme, words, colour in pairs:
        for name, line, label in (
            (f"{scheme}-pacer", "-", f"{words}, pacers"),
            (scheme, ":", f"{words}, none"),
        ):
            found = loads_of(experiment, name)
            loads = [load for load, _ in found]
            for axes, value in ((waits, latency), (times, large)):
                values = [value(runs) for _, runs in found]
                axes.plot(loads, values, line, color=colour, marker=".", label=label)
    waits.set(ylabel="Wait at the port (µs), mean", title="Figure 11: latency", ylim=(0, None))
    times.set(ylabel="FCT of 10 MB (ms), mean", title="Figure 11: large files", ylim=(0, None))
    for axes in (waits, times):
        axes.legend(loc="upper left")


def fig11_bursts(experiment: Experiment) -> Figure:
    """Figure 11 with bursty servers."""
    figure, (waits, times) = pyplot.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
    draw_pacing(experiment, waits, times)
    for axes in (waits, times):
        axes.set(xlabel="Load (%)", xticks=LOADS)
    figure.suptitle("Files of 1 KB and 10 MB from bursty servers over 1 Gb/s")
    return figure


def draw_slowdowns(experiment: Experiment, axes: Axes) -> None:
    """Figure 10: large files over the best scheme without headroom, and processor sharing."""
    steps = [rho / 100 for rho in range(10, 66)]
    for drain, colour in DRAINS:
        gamma = drain / 1000 - LOST
        for line, scale in (("-", 1.0), (":", EFFICIENCY)):
            rhos = [rho for rho in steps if rho / scale < gamma - 0.03]
            theory = [(1 - rho / scale) / (gamma - rho / scale) for rho in rhos]
            axes.plot([rho * 100 for rho in rhos], theory, line, color=colour, linewidth=1.0)
        loads, found = [], []
        for load, runs in loads_of(experiment, f"pq{drain}-pacer"):
            series = experiment.series()
            base = [f"{scheme}-{load}" for scheme in ("tcp", "dctcp-30k")]
            best = min((large(series[each]) for each in base if each in series), default=None)
            if best is not None:
                loads.append(load)
                found.append(large(runs) / best)
        shown = [min(slowdown, MAX) for slowdown in found]
        axes.plot(loads, shown, "o", color=colour, label=f"drain {drain} Mb/s", clip_on=False)
        for load, slowdown in zip(loads, found, strict=True):
            if slowdown > MAX:
                axes.annotate(
                    f"{slowdown:.1f}",
                    (load, MAX),
                    xytext=(-6, -4),
                    textcoords="offset points",
                    ha="right",
                    va="top",
                    color=colour,
                )
    axes.set(ylabel="Slowdown of 10 MB", ylim=(1, MAX))
    axes.set_title(r"Figure 10: $(1-\rho)/(\gamma-\rho)$; dotted: of the payload's rate")
    axes.legend(loc="upper left")


#: The classes of Figures 12 and 13: sizes, words.
CLASSES = (
    ({"from": None, "below": 10_000}, "below 10 KB", "us"),
    ({"from": 10_000, "below": 100_000}, "10 to 100 KB", "us"),
    ({"from": 100_000, "below": 10_000_001}, "100 KB to 10 MB", "ms"),
    ({"from": 10_000_001, "below": 100_000_000_000}, "above 10 MB", "ms"),
)


def fig12(experiment: Experiment) -> Figure:
    """Completion times by size, a row a load and a bar a scheme."""
    schemes = (
        ("tcp", "TCP (one run)", style.VERMILION),
        ("dctcp", "DCTCP", style.PURPLE),
        ("hull", "HULL", style.BLUE),
    )
    loads = [("", "360,000 flows a second"), ("-realised", "load of 15 % realised")]
    series = experiment.series()
    if experiment.tier == "quick":
        loads = [("-short", "54,000 flows")]
    figure, panels = pyplot.subplots(
        len(loads), 4, figsize=(11.0, 3.0 * len(loads) + 0.6), layout="constrained", squeeze=False
    )
    width = 0.26
    for row, (suffix, words) in zip(panels, loads, strict=True):
        for axes, (sizes, title, unit) in zip(row, CLASSES, strict=True):
            reductions = ["mean", "p99", "p99.9"] if unit == "us" else ["mean"]
            found = False
            for place, (scheme, name, colour) in enumerate(schemes):
                runs = series.get(scheme + suffix, [])
                values = {}
                for at, reduce in enumerate(reductions):
                    try:
                        wanted = {"quantity": "fct", "size_bytes": sizes, "reduce": reduce}
                        values[at] = mean_of(runs, **wanted)
                    except (MalformedResult, ValueError):
                        continue
                found = found or bool(values)
                drawn = axes.bar(
                    [at + (place - 1) * width for at in values],
                    list(values.values()),
                    width,
                    color=colour,
                    label=name,
                )
                labels = [f"{v:.0f}" if v >= 100 else f"{v:.3g}" for v in values.values()]
                axes.bar_label(drawn, labels, fontsize=5)
            axes.set_xticks(range(len(reductions)), reductions)
            axes.set(title=title, ylabel=f"FCT ({'µs' if unit == 'us' else 'ms'})")
            # The quick tier asks for few panels.
            axes.set_visible(found)
            if unit == "us" and found:
                axes.set(yscale="log", ylim=(10, None))
                axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(axis="x", visible=False)
        row[0].set_ylabel(f"{words}\nFCT (µs)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.suptitle("192 servers, Pareto sizes: completion times to the last ACK")
    return figure
