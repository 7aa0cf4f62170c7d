"""Beyond the papers: to whom a trimmed packet goes."""

from __future__ import annotations

from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.plot import style
from trimline.plot.incast import Ideal
from trimline.plot.lines import over, place
from trimline.plot.results import Experiment, Run

#: Less over the ideal than this is nothing, in percent.
MIN = 0.05

#: Scheme: words, colour, line.
SCHEMES = {
    "receiver": ("to receiver (NDP)", style.BLUE, "-"),
    "arriving": ("to receiver, without a coin", style.SKY, "--"),
    "sender": ("to sender", style.VERMILION, "-"),
    "both": ("to both", style.PURPLE, "-."),
    "notify": ("notification (FastLane)", style.GREEN, "--"),
    "drop": ("dropped", style.BLACK, ":"),
}


def trim_to(experiment: Experiment) -> Figure:
    """An incast, a congested core, a slow link: a line for each way of trimming."""
    figure, panels = pyplot.subplots(1, 3, figsize=(10.5, 4.0), layout="constrained")
    for axes, work, draw in zip(
        panels, ("incast", "core", "slow"), (incast, core, slow), strict=True
    ):
        for scheme, (words, colour, line) in SCHEMES.items():
            if runs := experiment.series().get(f"{work}-{scheme}", []):
                draw(axes, runs, words, colour, line)
    panels[0].set(
        xlabel="Senders of 135 KB",
        ylabel="Last flow over the ideal (%)",
        xscale="log",
        yscale="log",
        title="Incast, 432 hosts",
    )
    panels[1].set(
        xlabel="Flow completion time (ms)",
        ylabel="Share of flows",
        xscale="log",
        ylim=(0, 1.02),
        title="Web traffic, 8:1 oversubscribed",
    )
    panels[2].set(
        xlabel="Flow, by rank",
        ylabel="Goodput (Gb/s)",
        ylim=(0, None),
        title="Permutation beside a link of 1 Gb/s",
    )
    for axes in panels[:2]:
        axes.xaxis.set_major_formatter("{x:g}")
    panels[0].yaxis.set_major_formatter("{x:g}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.suptitle("To whom a trimmed packet goes")
    return figure


def incast(axes: Axes, runs: list[Run], words: str, colour: str, line: str) -> None:
    """Overhead by senders, where every flow ended."""
    ideal = Ideal.of(runs)
    whole = [run for run in runs if all(flow.fct_receiver_ps is not None for flow in run.flows)]

    def overhead(run: Run) -> float:
        # What is less is drawn at the edge.
        return max(MIN, ideal.over_percent(max(run.fct_ms()), place(run, "senders")))

    senders = over(whole, lambda run: place(run, "senders"), overhead)
    axes.plot(*senders, color=colour, linestyle=line, marker=".", label=words)


def core(axes: Axes, runs: list[Run], words: str, colour: str, line: str) -> None:
    """The share of all flows that took no longer."""
    flows = [flow for run in runs for flow in run.flows]
    times = sorted(flow.fct_receiver_ps for flow in flows if flow.fct_receiver_ps is not None)
    shares = [(rank + 1) / len(flows) for rank in range(len(times))]
    axes.plot([each / 1e9 for each in times], shares, color=colour, linestyle=line, label=words)


def slow(axes: Axes, runs: list[Run], words: str, colour: str, line: str) -> None:
    """Goodput by rank, the mean of the seeds."""
    ranked = [sorted(run.throughput_gbps()) for run in runs]
    mean = [fmean(at_rank) for at_rank in zip(*ranked, strict=True)]
    axes.plot(mean, color=colour, linestyle=line, label=words)
