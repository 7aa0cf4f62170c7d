"""HULL's figures of what hosts' NICs and processors do: bursts, loads, bytes an ACK."""

from __future__ import annotations

from matplotlib import pyplot
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import of_series
from trimline.plot.results import Experiment, Run

#: Series of Table 2, their words, and what the paper measured: load in percent, KB an ACK, Gb/s.
TABLE2 = (
    ("adaptive", "adaptive", (37.2, 41.3, 9.5)),
    ("128", "128", (30.7, 64.0, 9.5)),
    ("32", "32", (53.2, 16.5, 9.5)),
    ("8", "8", (75.0, 12.2, 9.5)),
    ("2", "2", (98.7, 11.4, 9.3)),
    ("0", "0", (99.0, 67.4, 7.7)),
    ("128-alone", "128\n(no time)", (30.7, 64.0, 9.5)),
    ("32-alone", "32\n(no time)", (53.2, 16.5, 9.5)),
)


def received(run: Run) -> tuple[float, float, float]:
    """Load of the receiver's processor in percent, KB an ACK, goodput in Gb/s."""
    there = [row for row in run.rows("hosts") if row["host"] == "1"]
    if len(there) != 1 or int(there[0]["measured_sent"]) == 0:
        raise MalformedResult(f"{run.folder}: no host 1 that answered in hosts.csv")
    busy, answers = int(there[0]["measured_receiving_ps"]), int(there[0]["measured_sent"])
    arrived = sum(flow.measured_bytes for flow in run.flows)
    span = run.measured_ps
    return 100 * busy / span, arrived / answers / 1e3, arrived * 8e3 / span


def table2(experiment: Experiment) -> Figure:
    """The effect of interrupt coalescing, beside the paper's numbers."""
    figure, panels = pyplot.subplots(3, figsize=(6.4, 7.0), sharex=True, layout="constrained")
    rows = [row for row in TABLE2 if row[0] in experiment.series()]
    places = list(range(len(rows)))
    ours = [received(of_series(experiment, name)[0]) for name, _, _ in rows]
    labels = ("Processor load (%)", "Data an ACK (KB)", "Goodput (Gb/s)")
    for number, (axes, label) in enumerate(zip(panels, labels, strict=True)):
        axes.bar(places, [each[number] for each in ours], 0.55, color=style.SKY, label="simulated")
        axes.plot(
            places,
            [baseline[number] for _, _, baseline in rows],
            color=style.VERMILION,
            linestyle="none",
            marker="D",
            label="the paper",
        )
        axes.set(ylabel=label, ylim=(0, None))
    panels[-1].set_xticks(places, [words for _, words, _ in rows])
    panels[-1].set_xlabel("Frames before an interrupt (rx-frames)")
    panels[0].legend(loc="upper left", ncols=2)
    figure.suptitle("One flow at 10 Gb/s: interrupt coalescing at its receiver")
    return figure


def fig03(experiment: Experiment) -> Figure:
    """Sequence of data and ACKs of one flow over five milliseconds."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.6), layout="constrained")
    run = experiment.runs[0]
    departures = [row for row in run.rows("timeline") if row["event"] == "depart"]
    data = [row for row in departures if row["place"] == "host 0" and row["packet"] == "data"]
    acks = [row for row in departures if row["place"] == "host 1"]
    if not data or not acks:
        raise MalformedResult(f"{run.folder}: no data or no ACKs in the timeline")
    begin, first = int(data[0]["time_ps"]), int(data[0]["sequence"])
    payload = run.host_link.payload_bytes

    def points(rows: list[dict[str, str]]) -> tuple[list[float], list[float]]:
        times = [(int(row["time_ps"]) - begin) / 1e9 for row in rows]
        return times, [(int(row["sequence"]) - first) * payload / 1e3 for row in rows]

    times, kilobytes = points(data)
    axes.plot([0, times[-1]], [0, times[-1] * 125], color=style.GREY, linestyle=":", label="1 Gb/s")
    axes.plot(
        times, kilobytes, color=style.BLUE, linestyle="none", marker=".", markersize=3, label="data"
    )
    times, kilobytes = points(acks)
    axes.plot(times, kilobytes, color=style.VERMILION, linestyle="none", marker="+", label="ACKs")
    axes.set(xlabel="Time (ms)", ylabel="Sequence (KB)", xlim=(0, 5), ylim=(0, None))
    axes.legend(loc="upper left")
    figure.suptitle("One flow of about 1 Gb/s over a link of 10 Gb/s")
    return figure
