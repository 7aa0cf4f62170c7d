"""FastLane's figures, drawn from the answers of the runs.

A run has hundreds of thousands of flows; what the findings asked of it is in measures.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.files import MalformedResult, read_json
from trimline.plot import style
from trimline.plot.dynamic import answer, mean_of
from trimline.plot.lines import marked
from trimline.plot.results import Experiment, Run

#: Sizes of responses in KB, each with its colour.
SIZES = (
    (2, style.BLUE),
    (4, style.SKY),
    (8, style.GREEN),
    (16, style.ORANGE),
    (32, style.VERMILION),
)
#: Bytes of a packet and of a notification (FastLane 3.3.1).
PACKET, NOTIFICATION = 800, 64
#: Bytes of a burst, ports of a switch and its memory (FastLane 3.3.2).
BURST, PORTS, MEMORY = 160_000, 48, 6_144_000


@dataclass(frozen=True)
class Ask:
    """A completion time that runs were asked for: which flows, and which words stand for them."""

    bytes: int
    colour: str

    @property
    def size(self) -> dict[str, int]:
        """The sizes of its measure."""
        return {"from": self.bytes, "below": self.bytes + 1}

    def of(self, run: Run) -> tuple[str, float]:
        """The reduction, and the number in us."""
        for each in read_json(run.folder / "measures.json")["measures"]:
            measure = each["measure"]
            if (measure["quantity"], measure.get("unit")) != ("fct", "us"):
                continue
            if measure.get("size_bytes") == self.size and each["value"] is not None:
                return str(measure["reduce"]), float(each["value"])
        raise MalformedResult(f"{run.folder}: measures.json has no time of {self.bytes} B")


ASKS = tuple(Ask(1000 * size, colour) for size, colour in SIZES)


def only(experiment: Experiment, name: str) -> Run | None:
    """The run of a series, if it was run."""
    runs = experiment.series().get(name)
    return runs[0] if runs else None


def long_ms(run: Run) -> float:
    """The mean time of long flows, ms."""
    return answer(run, quantity="fct", workload="long", reduce="mean", unit="ms")


def has_long(run: Run) -> bool:
    """Returns whether a run was asked for the mean time of long flows."""
    asked = read_json(run.folder / "measures.json")["measures"]
    return any(each["measure"].get("workload") == "long" for each in asked)


def above(value: float, base: float) -> float:
    """Percent."""
    return 100 * (value / base - 1)


def pairs(
    experiment: Experiment, scheme: str, base: str, places: Sequence[float]
) -> list[tuple[float, Run, Run]]:
    """The runs of a scheme with those that they are compared with, by place."""
    found = []
    for place in places:
        run, other = (only(experiment, f"{name}-{place:g}") for name in (scheme, base))
        if run and other:
            found.append((place, run, other))
    return found


def reductions(axes: Axes, found: Sequence[tuple[float, Run, Run]]) -> None:
    """A line a size: by how many percent its time exceeds the time of the scheme beside it."""
    for ask in ASKS:
        points = [(place, ask.of(run), ask.of(base)) for place, run, base in found]
        quantiles = sorted({reduce for _, (reduce, _), _ in points})
        axes.plot(
            [place for place, _, _ in points],
            [above(time, base) for _, (_, time), (_, base) in points],
            color=ask.colour,
            marker=".",
            label=f"{ask.bytes // 1000} KB, {' or '.join(quantiles)}",
        )
    axes.axhline(0, color=style.GREY, linewidth=0.8)


def longs(axes: Axes, lines: Sequence[tuple[Sequence[tuple[float, Run, Run]], str, str]]) -> None:
    """A line a scheme: by how many percent long flows' mean time exceeds the baseline's."""
    for found, words, colour in lines:
        axes.plot(
            [place for place, _, _ in found],
            [above(long_ms(run), long_ms(base)) for _, run, base in found],
            color=colour,
            marker=".",
            label=words,
        )
    axes.axhline(0, color=style.GREY, linewidth=0.8)
    axes.set_title("1 MB, mean", fontsize=9)


def percents(panels: Sequence[Axes], xlabel: str, ticks: Sequence[float]) -> None:
    """Labels the axes of panels of percents."""
    for axes in panels:
        axes.set(xlabel=xlabel, xticks=list(ticks))
    panels[0].set_ylabel("Completion time over that without FastLane (%)")


def by_load(
    experiment: Experiment,
    schemes: Sequence[tuple[str, str, str]],
    base: str,
    places: Sequence[float],
    labels: tuple[str, str],
) -> Figure:
    """A panel a scheme with a line a size, and one of long flows."""
    count = len(schemes)
    figure, panels = pyplot.subplots(
        1, count + 1, figsize=(3.3 * (count + 1), 4.2), layout="constrained", squeeze=False
    )
    drawn = []
    for axes, (scheme, words, colour) in zip(panels[0], schemes, strict=False):
        found = pairs(experiment, scheme, base, places)
        reductions(axes, found)
        axes.set_title(words, fontsize=9)
        axes.set_ylim(-100, 40)
        drawn.append((found, words, colour))
    last = panels[0][-1]
    longs(last, drawn)
    last.legend(loc="best")
    percents(list(panels[0]), labels[0], places)
    figure.suptitle(labels[1])
    handles, words = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=5)
    return figure


OF_TCP = (
    ("fl-fh", "TCP with FastLane, flow hashing", style.BLUE),
    ("fl-ps", "TCP with FastLane, packet scatter", style.VERMILION),
)
OF_PFABRIC = (("fl", "pFabric with FastLane", style.PURPLE),)
LOADS = (20, 40, 60, 80)
SHARES = (10, 30, 50)


def fig06(experiment: Experiment) -> Figure:
    """TCP by utilisation."""
    words = ("Utilisation (%)", "TCP with FastLane over TCP, a tenth of the load short")
    return by_load(experiment, OF_TCP, "tcp", LOADS, words)


def fig07(experiment: Experiment) -> Figure:
    """FCT of pFabric by utilisation."""
    words = ("Utilisation (%)", "pFabric with FastLane over pFabric, a tenth of the load short")
    return by_load(experiment, OF_PFABRIC, "pfabric", LOADS, words)


def fig08(experiment: Experiment) -> Figure:
    """TCP by the share of short flows."""
    words = ("Short flows (% of the load)", "TCP with FastLane over TCP, 60 % utilisation")
    return by_load(experiment, OF_TCP, "tcp", SHARES, words)


def fig09(experiment: Experiment) -> Figure:
    """FCT of pFabric by the share of short flows."""
    words = ("Short flows (% of the load)", "pFabric with FastLane over pFabric, 60 % utilisation")
    return by_load(experiment, OF_PFABRIC, "pfabric", SHARES, words)


def formula_line(
    axes: Axes, places: Sequence[float], value: Callable[[float], float], words: str
) -> None:
    """Draws the line of an equation."""
    axes.plot(places, [value(at) for at in places], color=style.GREY, label=words)


def eq1(experiment: Experiment) -> Figure:
    """The share of the load that is notifications."""
    figure, axes = pyplot.subplots(layout="constrained")

    def share(percent: float) -> float:
        notified = percent / 100 * NOTIFICATION
        return 100 * notified / (PACKET + notified)

    formula_line(axes, [0.1 * step for step in range(251)], share, "equation 1")
    for kind, words, marker, colour in (
        ("sent", "simulated, all that are generated", "o", style.BLUE),
        ("capped", "simulated, none beyond the cap", "x", style.VERMILION),
    ):
        names = {int(name.rpartition("-")[2]): name for name in experiment.series() if kind in name}
        runs = [(place, only(experiment, names[place])) for place in sorted(names)]
        points = [
            (place, answer(run, quantity="utilisation"))
            for place, run in runs
            if run and has(run, "utilisation")
        ]
        axes.plot(*zip(*points, strict=True), marker, color=colour, label=words, linestyle="none")
    marked(axes, 1.0, "the cap: 1 %")
    axes.set(xlabel="Packets that are dropped (%)", ylabel="Notifications (% of the load)")
    axes.set(xlim=(0, 25), ylim=(0, 2))
    axes.legend(loc="lower right")
    figure.suptitle("Notifications of 64 B for packets of 800 B")
    return figure


def has(run: Run, quantity: str) -> bool:
    """Returns whether a run was asked for a quantity."""
    asked = read_json(run.folder / "measures.json")["measures"]
    return any(each["measure"]["quantity"] == quantity for each in asked)


def fig04(experiment: Experiment) -> Figure:
    """The share of a switch's memory that notifications of simultaneous bursts take."""
    figure, axes = pyplot.subplots(layout="constrained")

    def share(bursts: float) -> float:
        notified = bursts * BURST * NOTIFICATION / PACKET * (1 - bursts / PORTS)
        return 100 * notified / MEMORY

    formula_line(axes, range(1, PORTS + 1), share, "equation 2")
    found = sorted(
        (int(name.rpartition("-")[2]), answer(runs[0], quantity="port_notified"))
        for name, runs in experiment.series().items()
    )
    axes.plot(
        [bursts for bursts, _ in found],
        [100 * count * NOTIFICATION / MEMORY for _, count in found],
        "o",
        color=style.BLUE,
        label="simulated",
    )
    axes.set(xlabel="Simultaneous bursts", ylabel="Notifications (% of the memory)")
    axes.set(xlim=(0, PORTS + 1), ylim=(0, 3))
    axes.legend(loc="upper right")
    figure.suptitle("Bursts of 160 KB into a switch of 48 ports and 6144 KB")
    return figure


def fig02(experiment: Experiment) -> Figure:
    """Bars: TCP, Source Quench, FastLane, ideal notification."""
    schemes = (
        ("tcp", "TCP", style.VERMILION),
        ("tcp-drop-tail", "TCP, no CoDel", style.ORANGE),
        ("source-quench", "Source Quench", style.PURPLE),
        ("fastlane", "FastLane", style.BLUE),
        ("ideal", "ideal notification", style.GREEN),
    )
    figure, axes = pyplot.subplots(figsize=(7.6, 4.2), layout="constrained")
    width = 0.16
    ticks: list[str] = []
    for place, (name, words, colour) in enumerate(schemes):
        run = only(experiment, name)
        if not run:
            continue
        times = [ask.of(run) for ask in ASKS]
        ticks = [
            f"{ask.bytes // 1000} KB\n{how}" for ask, (how, _) in zip(ASKS, times, strict=True)
        ]
        drawn = axes.bar(
            [at + (place - 2) * width for at in range(len(times))],
            [time / 1e3 for _, time in times],
            width,
            color=colour,
            label=words,
        )
        axes.bar_label(drawn, fmt="%.2g", fontsize=5)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set(ylabel="Completion time (ms)")
    axes.grid(axis="x", visible=False)
    figure.legend(loc="outside lower center", ncols=5)
    figure.suptitle("Short flows at 60 % utilisation, a tenth of the load short")
    return figure


def normalised(
    axes: Axes, runs: Mapping[float, Run], base: float, words: str, *, with_long: bool = False
) -> None:
    """Times over the times of the same scheme at one place, a line a size."""
    places = sorted(runs)
    if base not in runs:
        axes.set_visible(False)
        return
    for ask in ASKS:
        how, first = ask.of(runs[base])
        axes.plot(
            places,
            [ask.of(runs[place])[1] / first for place in places],
            color=ask.colour,
            marker=".",
            label=f"{ask.bytes // 1000} KB, {how}",
        )
    if with_long:
        asked = [place for place in places if has_long(runs[place])]
        axes.plot(
            asked,
            [long_ms(runs[place]) / long_ms(runs[base]) for place in asked],
            color=style.GREY,
            linestyle="--",
            marker=".",
            label="1 MB, mean",
        )
    axes.axhline(1, color=style.GREY, linewidth=0.8)
    axes.set_title(words, fontsize=9)


def by_place(experiment: Experiment, prefix: str) -> dict[float, Run]:
    """The runs of a scheme by the number at the end of their names."""
    return {
        float(name.rpartition("-")[2]): runs[0]
        for name, runs in experiment.series().items()
        if name.rpartition("-")[0] == prefix
    }


def caps(experiment: Experiment) -> Figure:
    """Figures 10 and 11: times by the scale of both caps."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    normalised(axes, by_place(experiment, "scale"), 1.0, "")
    axes.set(
        xlabel="Scale of both caps (1: 1 % of bandwidth, 3.2 KB)",
        ylabel="Completion time over that at scale 1",
        ylim=(0, None),
    )
    axes.invert_xaxis()
    axes.legend(loc="upper left")
    who = "TCP" if experiment.identifier.endswith("fig10") else "pFabric"
    figure.suptitle(f"{who} with FastLane, 60 % utilisation, half of it short")
    return figure


def memory(experiment: Experiment) -> Figure:
    """Figures 12 and 13: times by the memory of a port."""
    is_tcp = experiment.identifier.endswith("fig12")
    schemes = (
        (("fl-ps", "TCP with FastLane"), ("tcp", "TCP"))
        if is_tcp
        else (("fl", "pFabric with FastLane"), ("pfabric", "pFabric"))
    )
    base = 128.0 if is_tcp else 64.0
    figure, panels = pyplot.subplots(1, 2, figsize=(8.8, 4.6), layout="constrained", sharey=True)
    for axes, (scheme, words) in zip(panels, schemes, strict=True):
        normalised(axes, by_place(experiment, scheme), base, words, with_long=True)
        axes.set(xlabel="Memory of a port (KB)")
        axes.set_xticks([base * part for part in (1, 0.5, 0.25)])
    panels[0].invert_xaxis()
    panels[1].invert_xaxis()
    panels[0].set_ylabel(f"Completion time over that at {base:g} KB")
    figure.suptitle("60 % utilisation, half of it short")
    handles, words_of = panels[0].get_legend_handles_labels()
    figure.legend(handles, words_of, loc="outside lower center", ncols=3)
    return figure


def fig14(experiment: Experiment) -> Figure:
    """The time that FastLane saves, by the parallelism of servers."""
    figure, panels = pyplot.subplots(1, 2, figsize=(8.0, 4.2), layout="constrained", sharey=True)
    cores = (8, 16, 64)
    for axes, (scheme, base, words) in zip(
        panels, (("fl-ps", "tcp", "TCP"), ("pfabric-fl", "pfabric", "pFabric")), strict=True
    ):
        reductions(axes, pairs(experiment, scheme, base, cores))
        axes.set_title(words, fontsize=9)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    percents(list(panels), "Packets that a server processes at a time", cores)
    panels[0].set_ylim(-100, 40)
    figure.suptitle("60 % utilisation, half of it short")
    handles, words_of = panels[0].get_legend_handles_labels()
    figure.legend(handles, words_of, loc="outside lower center", ncols=5)
    return figure


#: Table 1: by how many percent FastLane's times are less than TCP-A's, by load and size.
TABLE1 = {
    20: (51, 61, 68, 63, -4),
    40: (55, 63, 64, 55, 46),
    60: (44, 53, 58, 51, 40),
    80: (32, 42, 48, 40, 22),
}


def fig15(experiment: Experiment) -> Figure:
    """The testbed: FastLane over TCP and over TCP-A, by load, and table 1."""
    figure, panels = pyplot.subplots(1, 2, figsize=(9.0, 4.4), layout="constrained", sharey=True)
    for axes, (base, words) in zip(
        panels, (("tcp", "over TCP"), ("tcp-a", "over TCP-A")), strict=True
    ):
        reductions(axes, pairs(experiment, "fl", base, LOADS))
        axes.set_title(words, fontsize=9)
    for load, row in TABLE1.items():
        for ask, percent in zip(ASKS, row, strict=True):
            panels[1].plot(load, -percent, "x", color=ask.colour, markersize=5)
    panels[1].plot([], [], "x", color=style.BLACK, markersize=5, label="paper, p99.9")
    panels[1].legend(
        *([each[-1:] for each in panels[1].get_legend_handles_labels()]), loc="upper right"
    )
    percents(list(panels), "Utilisation (%)", LOADS)
    figure.suptitle("TCP with FastLane, 16 hosts at 1 Gb/s, a tenth of the load short")
    handles, words_of = panels[0].get_legend_handles_labels()
    figure.legend(handles, words_of, loc="outside lower center", ncols=5)
    return figure


#: Table 2: by how many percent FastLane's mean times are less, by load: 1, 16 and 64 MB.
TABLE2 = {
    "tcp": {20: (-4, -4, -4), 40: (10, 7, 8), 60: (28, 26, 26), 80: (29, 30, 28)},
    "tcp-a": {20: (6, 3, 2), 40: (14, 12, 11), 60: (21, 23, 23), 80: (25, 29, 31)},
}


def table2(experiment: Experiment) -> Figure:
    """Long flows: mean times over TCP and over TCP-A, ours and the paper's."""
    figure, panels = pyplot.subplots(1, 2, figsize=(8.8, 4.2), layout="constrained", sharey=True)
    sizes = ((1, style.BLUE), (16, style.GREEN), (64, style.VERMILION))
    series = experiment.series()
    for axes, (base, words) in zip(
        panels, (("tcp", "over TCP"), ("tcp-a", "over TCP-A")), strict=True
    ):
        for place, (size, colour) in enumerate(sizes):
            number = size * 1_000_000
            wanted = {
                "quantity": "fct",
                "size_bytes": {"from": number, "below": number + 1},
                "reduce": "mean",
            }
            found = [
                (
                    load,
                    above(
                        mean_of(series[f"fl-{load}"], **wanted),
                        mean_of(series[f"{base}-{load}"], **wanted),
                    ),
                )
                for load in LOADS
                if f"fl-{load}" in series and f"{base}-{load}" in series
            ]
            axes.plot(
                [load for load, _ in found],
                [percent for _, percent in found],
                color=colour,
                marker=".",
                label=f"{size} MB",
            )
            baseline = [-row[place] for row in TABLE2[base].values()]
            axes.plot(LOADS, baseline, "x--", color=colour, linewidth=0.8, markersize=5)
        axes.plot([], [], "x--", color=style.BLACK, linewidth=0.8, label="paper")
        axes.axhline(0, color=style.GREY, linewidth=0.8)
        axes.set_title(words, fontsize=9)
        axes.legend(loc="lower left")
    percents(list(panels), "Utilisation (%)", LOADS)
    panels[0].set_ylabel("Mean completion time over that without FastLane (%)")
    figure.suptitle("TCP with FastLane, long flows, 16 hosts at 1 Gb/s")
    return figure
