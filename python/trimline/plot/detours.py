"""OPF's figures: what packets gain and pay that leave by another port when their own is busy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import numpy
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.results import Experiment, Run

#: Flows below this many bytes are the short ones of every figure.
SHORT = 100_000
#: Without and with detour.
PAIR = ("", "-opf")
#: Layers that lead down into a pod, and how figures call them.
LAYERS = (("core down", "core"), ("aggregation down", "aggregation"), ("tor down", "ToR"))


def short(run: Run, workload: str | None = None) -> list[float]:
    """FCT of the flows below 100 KB in us, ascending."""
    return sorted(
        flow.fct_receiver_ps / 1e6
        for flow in run.flows
        if flow.fct_receiver_ps
        and (flow.size_bytes or SHORT) < SHORT
        and workload in (None, flow.workload)
    )


def draw_cdf(axes: Axes, runs: Sequence[Run], colour: str, label: str) -> None:
    """FCT of short flows, of all and of incasts alone, as the share that took longer."""
    for workload, line, more in ((None, "-", ""), ("incast", ":", ", incasts alone")):
        values = numpy.sort(numpy.concatenate([short(run, workload) for run in runs]))
        # Thinned where there are very many, but not at the tail.
        longer = 1 - numpy.arange(len(values)) / len(values)
        kept = numpy.unique(numpy.geomspace(1, len(values), 2000).astype(int))
        places = len(values) - kept
        axes.plot(values[places], longer[places], line, color=colour, label=label + more)


def cdfs(experiment: Experiment, bases: Sequence[tuple[str, str]], scheme: str) -> Figure:
    """A panel a workload: the share of short flows that took longer than a time."""
    series = experiment.series()
    shown = [(base, words) for base, words in bases if base in series]
    figure, panels = pyplot.subplots(
        1, len(shown), figsize=(4.6 * len(shown), 4.0), layout="constrained", squeeze=False
    )
    for axes, (base, words) in zip(panels.flat, shown, strict=True):
        for suffix in PAIR:
            colour = style.colour_of("opf" if suffix else scheme.lower())
            label = f"{scheme} with OPF" if suffix else scheme
            draw_cdf(axes, series[base + suffix], colour, label)
        axes.set(
            xscale="log",
            yscale="log",
            ylim=(1e-4, 1.1),
            xlabel="FCT (µs)",
            ylabel="Share of flows below 100 KB that took longer",
            title=words,
        )
        axes.axhline(0.01, color=style.GREY, linewidth=0.8, linestyle="--")
    panels.flat[0].legend(loc="lower left")
    return figure


def fig06(experiment: Experiment) -> Figure:
    """FCT of short flows: NDP with and without OPF."""
    bases = (("web", "Web"), ("hadoop", "Hadoop"), ("hadoop-spread", "Hadoop, first choice"))
    figure = cdfs(experiment, bases, "NDP")
    figure.suptitle("Incasts of 216 into a pod over random traffic of 30 %, 432 hosts")
    return figure


def fig10(experiment: Experiment) -> Figure:
    """FCT of short flows: Homa with and without OPF."""
    bases = tuple(
        (f"{name}-{load}", f"{words}, {load} %")
        for name, words in (("web", "Web"), ("hadoop", "Hadoop"))
        for load in (25, 35)
    )
    figure = cdfs(experiment, bases, "Homa")
    figure.suptitle("Incasts of 64 into a rack over random traffic, 144 hosts")
    return figure


def fig04(experiment: Experiment) -> Figure:
    """FCT of all flows: no detours, two at most, any number."""
    series = experiment.series()
    names = [
        (base, words) for base, words in (("hadoop", "Hadoop"), ("web", "Web")) if base in series
    ]
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(4.6 * len(names), 4.0), layout="constrained", squeeze=False
    )
    kinds = (
        ("", "Homa", style.colour_of("homa")),
        ("-opf-2", "limit 2", style.colour_of("opf")),
        ("-opf-unlimited", "no limit", style.VERMILION),
    )
    for axes, (base, words) in zip(panels.flat, names, strict=True):
        for suffix, label, colour in kinds:
            times = [1e3 * time for run in series[base + suffix] for time in run.fct_ms()]
            values = numpy.sort(times)
            longer = 1 - numpy.arange(len(values)) / len(values)
            axes.plot(values, longer, color=colour, label=label)
        axes.set(
            xscale="log",
            yscale="log",
            ylim=(1e-3, 1.1),
            xlabel="FCT (µs)",
            ylabel="Share of flows that took longer",
            title=words,
        )
    panels.flat[0].legend(loc="lower left")
    figure.suptitle("Homa on 14 hosts at 100 Mb/s, detours limited and not")
    return figure


def by_senders(runs: Sequence[Run]) -> dict[int, list[Run]]:
    """The runs of a series by the size of the burst."""
    found: dict[int, list[Run]] = {}
    for run in runs:
        found.setdefault(int(run.point["senders"]), []).append(run)
    return dict(sorted(found.items()))


def queue_kb(run: Run, layer: str, headers: bool) -> float:
    """Mean length of the queues of a layer of the pod over the run, KB a port."""
    held = []
    for row in run.rows("series"):
        if row["layer"] == f"pod 0 {layer}":
            data = float(row["data_queue_bytes_mean"])
            held.append(float(row["queue_bytes_mean"]) - data if headers else data)
    if not held:
        raise MalformedResult(f"{run.folder}: series.csv has no samples of pod 0")
    return fmean(held) / 1e3


def fig08(experiment: Experiment) -> Figure:
    """Ways, NACKs, trims and queues over the size of a burst."""
    series = experiment.series()
    figure, panels = pyplot.subplots(2, 3, figsize=(12.0, 7.2), layout="constrained")
    for name, protocol in (("ndp", "ndp"), ("ndp-opf", "opf")):
        label, colour = style.NAMES[protocol], style.colour_of(protocol)
        points = by_senders(series[name])
        senders = list(points)

        def line(axes: Axes, values: Sequence[float], kind: str, words: str) -> None:
            axes.plot(senders, values, kind, color=colour, marker=".", label=words)  # noqa: B023

        each = points.values()
        line(panels[0, 0], [mean(runs, "paths", "mean_links") for runs in each], "-", label)
        line(panels[0, 1], [mean(runs, "trims") for runs in each], "-", label)
        for (layer, words), kind in zip(LAYERS, (":", "--", "-"), strict=True):
            for axes, headers, unit in ((panels[1, 0], False, 1.0), (panels[1, 1], True, 1e3)):
                held = [
                    unit * fmean(queue_kb(run, layer, headers) for run in runs) for runs in each
                ]
                line(axes, held, kind, f"{label}: {words}")
            cut = [fmean(trimmed(run, layer) for run in runs) for runs in each]
            line(panels[0, 2], cut, kind, f"{label}: {words}")
    panels[1, 2].axis("off")
    handles, labels = panels[1, 0].get_legend_handles_labels()
    panels[1, 2].legend(handles, labels, loc="center")
    titles = (
        (panels[0, 0], "Links of a packet", "Figure 8(a): ways"),
        (panels[0, 1], "NACKs", "Figure 8(b): NACKs"),
        (panels[0, 2], "Packets trimmed", "Figure 9(c): trims by layer"),
        (panels[1, 0], "Data in a queue (KB), mean", "Figure 9(a): data queues"),
        (panels[1, 1], "Headers in a queue (B), mean", "Figure 9(b): header queues"),
    )
    for axes, words, title in titles:
        axes.set(xlabel="Senders of a burst", ylabel=words, title=title)
    panels[0, 0].legend(loc="upper left")
    figure.suptitle("Bursts of 100 KB from the other pods into one pod")
    return figure


def mean(runs: Sequence[Run], *keys: str) -> float:
    """The mean of a number of the summaries."""
    return fmean(run.number(*keys) for run in runs)


def trimmed(run: Run, layer: str) -> int:
    """Packets that ports of a layer trimmed."""
    kind, direction = layer.split()
    return sum(
        int(row["trimmed"])
        for row in run.rows("ports")
        if row["name"].startswith(f"{kind} ") and f" {direction} " in row["name"]
    )


def gain(without: Run, with_it: Run) -> float:
    """By how many percent the 99th percentile of short flows is longer."""
    before, after = (numpy.quantile(short(run), 0.99) for run in (without, with_it))
    return float(100 * (after / before - 1))


def opf_map(experiment: Experiment) -> Figure:
    """The change of the 99th percentile over fan-in, interval and marked packets."""
    series = experiment.series()
    points = {tuple(sorted(run.point.items())): run for run in series["ndp"]}
    cells = {
        (run.point["marked"], run.point["every"], int(run.point["senders"])): gain(
            points[tuple(sorted(run.point.items()))], run
        )
        for run in series["ndp-opf"]
    }
    marks = sorted({cell[0] for cell in cells}, key=int)
    intervals = sorted({cell[1] for cell in cells}, key=microseconds)
    senders = sorted({cell[2] for cell in cells})
    figure, panels = pyplot.subplots(
        1, len(marks), figsize=(3.6 * len(marks), 3.4), layout="constrained", squeeze=False
    )
    for axes, marked in zip(panels.flat, marks, strict=True):
        grid = [[cells.get((marked, every, n), numpy.nan) for n in senders] for every in intervals]
        image = axes.imshow(grid, cmap="RdBu_r", vmin=-50, vmax=50, origin="lower", aspect="auto")
        for row, values in enumerate(grid):
            for column, value in enumerate(values):
                ink = "white" if abs(value) > 35 else style.BLACK
                words = f"{value:+.0f} %"
                axes.text(column, row, words, ha="center", va="center", fontsize=8, color=ink)
        axes.set(
            xticks=range(len(senders)),
            xticklabels=senders,
            yticks=range(len(intervals)),
            yticklabels=intervals,
            xlabel="Senders of an incast",
            title=f"{marked} packets marked",
        )
        axes.grid(visible=False)
    panels.flat[0].set_ylabel("Interval of incasts")
    figure.colorbar(image, ax=panels, label="99th percentile below 100 KB, OPF above NDP (%)")
    figure.suptitle("Where OPF gains: Hadoop's sizes over 30 % of random traffic")
    return figure


def microseconds(text: str) -> float:
    """A duration of a scenario in us."""
    for unit, scale in (("us", 1.0), ("ms", 1e3), ("s", 1e6)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * scale
    raise MalformedResult(f"no duration: {text}")


def dibs_rps(experiment: Experiment) -> Figure:
    """The 99th percentile and the ways of each setting."""
    series = experiment.series()
    order = ("ndp", "opf", "opf-unlimited", "dibs-2", "dibs", "rps", "switch-random")
    names = [name for name in order if name in series]
    figure, (times, ways) = pyplot.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    for place, name in enumerate(names):
        runs = series[name]
        tails = [float(numpy.quantile(short(run), 0.99)) for run in runs]
        times.barh(place, fmean(tails), color=style.BLUE)
        times.plot(tails, [place] * len(tails), "|", color=style.BLACK)
        ways.barh(place, mean(runs, "paths", "mean_links"), color=style.GREEN)
        longest = max(run.number("paths", "max_links") for run in runs)
        ways.annotate(f"longest {longest:.0f}", (0.02, place), fontsize=7, va="center")
    times.set(xlabel="99th percentile of the FCT below 100 KB (µs)")
    ways.set(xlabel="Links of a packet, mean")
    for axes in (times, ways):
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
    figure.suptitle("DIBS and random packet spraying as settings of one mechanism")
    return figure


def fig03(experiment: Experiment) -> Figure:
    """Heat maps of a switch: how often each length was seen at each port."""
    series = experiment.series()
    names = [name for name in ("baseline", "opf") if name in series]
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(4.8 * len(names), 4.2), layout="constrained", squeeze=False
    )
    for axes, name in zip(panels.flat, names, strict=True):
        run = series[name][0]
        packet = run.host_link.payload_bytes + run.host_link.header_bytes
        seen: Counter[tuple[int, int]] = Counter()
        for row in run.rows("port_series"):
            port = int(row["name"].rsplit(" ", 1)[1])
            seen[port, round(int(row["queue_bytes"]) / packet)] += 1
        ports = 1 + max(port for port, _ in seen)
        grid = numpy.zeros((65, ports))
        for (port, length), count in seen.items():
            grid[min(length, 64), port] += count
        share = 100 * grid / grid.sum(axis=0)
        image = axes.imshow(
            numpy.log10(numpy.maximum(share, 1e-3)), origin="lower", aspect="auto", cmap="magma"
        )
        axes.set(xlabel="Port of the switch", title={"opf": "with OPF"}.get(name, name))
        axes.grid(visible=False)
    panels.flat[0].set_ylabel("Packets in its queue")
    bar = figure.colorbar(image, ax=panels, ticks=[-3, -2, -1, 0, 1, 2])
    bar.set_label("Share of samples (%)")
    bar.set_ticklabels(["< 0.001", "0.01", "0.1", "1", "10", "100"])
    figure.suptitle("How long the queues of spine 0 are, with UDP bursts to leaf 0")
    return figure
