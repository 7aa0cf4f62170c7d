"""Figures of the evaluation of NDP (University of Cambridge, TR-933)."""

from __future__ import annotations

from statistics import fmean

from matplotlib import pyplot
from matplotlib.figure import Figure

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.lines import marked
from trimline.plot.results import Experiment, Run

#: Runs of seconds.
SMALL = "small"

#: Series of Figure 3, without their payloads: name, colour, line.
LINES = {
    "ndp": ("NDP, authors' queues", style.BLUE, "-"),
    "ndp-paper": ("NDP, paper's queues", style.SKY, "-"),
    "window": ("NDP, window in bytes", style.BLUE, "--"),
    "pulls": ("NDP, separate PULLs", style.BLUE, ":"),
    "queue": ("NDP, queues in bytes", style.BLUE, "-."),
    "mptcp": ("MPTCP", style.PROTOCOLS["mptcp"], "-"),
    "dctcp": ("DCTCP", style.PROTOCOLS["dctcp"], "-"),
    "dcqcn": ("DCQCN, authors'", style.PROTOCOLS["dcqcn"], "-"),
    # The quick tier's, which the figure does not need.
    SMALL: ("NDP, 16 hosts", style.GREY, "-"),
}


def fig03(experiment: Experiment) -> Figure:
    """Goodput of a permutation by payload, and the same with headers counted."""
    by_payload: dict[str, dict[int, list[Run]]] = {}
    for series, runs in experiment.series().items():
        name, _, payload = series.rpartition("-")
        if name not in LINES or not payload.isdigit():
            raise MalformedResult(f"{experiment.folder}: no protocol and payload: {series!r}")
        by_payload.setdefault(name, {})[int(payload)] = list(runs)
    if len(by_payload) > 1:
        by_payload.pop(SMALL, None)
    figure, panels = pyplot.subplots(1, 2, sharey=True, figsize=(9.6, 4.2), layout="constrained")
    for axes, with_headers in zip(panels, (False, True), strict=True):
        for name, (label, colour, line) in LINES.items():
            payloads = sorted(by_payload.get(name, {}))
            values = [
                fmean(goodput(run, payload, with_headers) for run in by_payload[name][payload])
                for payload in payloads
            ]
            if payloads:
                axes.plot(payloads, values, color=colour, linestyle=line, marker=".", label=label)
        axes.set(xscale="log", xlabel="Payload of a packet (B)", ylim=(0, 11))
        axes.xaxis.set_major_formatter("{x:g}")
    panels[0].set_title("Goodput", loc="left")
    panels[1].set_title("The same with the headers of data", loc="left")
    panels[0].set_ylabel("Mean of the flows (Gb/s)")
    marked(panels[1], experiment.runs[0].host_link.gbps, "link")
    figure.suptitle("A permutation by payload: every host sends to one and receives from one")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def goodput(run: Run, payload: int, with_headers: bool) -> float:
    """Mean goodput of the flows, in Gb/s; with the headers of their packets."""
    share = (payload + run.host_link.header_bytes) / payload if with_headers else 1.0
    return fmean(run.throughput_gbps()) * share
