"""Waits by load, slowdowns by theory and experiment, and what pacing gains (Figures 10, 11)."""

from trimline import plot

LOADS = (20, 40, 60)
#: Series without their loads: words, colour.
SCHEMES = {
    "tcp": ("TCP", plot.VERMILION),
    "dctcp-30k": ("DCTCP-30K", plot.PURPLE),
    "dctcp-6k-pacer": ("DCTCP-6K-Pacer", plot.GREEN),
    "pq950-pacer": ("PQ950-Pacer", plot.BLUE),
}
#: Schemes without "-pacer": words, colour.
PACED = {"dctcp-6k": ("DCTCP-6K", plot.GREEN), "pq950": ("PQ950", plot.BLUE)}
#: Drains of Figure 10, Mb/s.
DRAINS = {950: plot.BLUE, 900: plot.GREEN, 800: plot.VERMILION}
#: What DCTCP loses below the drain of a phantom queue, of the link (HULL 3.1).
LOST = 0.08
#: The largest slowdown that Figure 10 shows in its place.
MAX = 4.5
#: Payload that a link carries, of its rate: 1450 of 1538 B.
EFFICIENCY = 1450 / 1538


def figure(experiment):
    title = "A client asks nine servers for files of 1 KB and 10 MB over 1 Gb/s"
    figure, grid = plot.panels(2, 2, (9.6, 7.4), title)
    (waits, slowdowns), (unpaced, times) = grid
    for scheme, (words, colour) in SCHEMES.items():
        places = experiment.numbered(scheme)
        plot.line(waits, places, wait_us, color=colour, marker=".", label=words)
        look = {"color": colour, "linestyle": "--", "marker": "."}
        plot.line(waits, places, lambda run: wait_us(run, "p99"), **look)
    words = ("Wait at the port (µs)", "Table 4: mean, dashed: 99th percentile")
    plot.label(waits, "", *words, log="y", ylim=(1, None))
    draw_slowdowns(experiment, slowdowns)
    draw_pacing(experiment, unpaced, times)
    for axes in grid.flat:
        axes.set(xlabel="Load (%)", xticks=LOADS)
    return figure


def wait_us(run, reduce="mean"):
    return run.answer(quantity="waiting", workload="probe", reduce=reduce)


def large_ms(run):
    return run.answer(quantity="fct", size_bytes={"from": 2000, "below": None}, reduce="mean")


def draw_pacing(experiment, waits, times):
    """Draws Figure 11: waits and completion times of large files, with pacers and without."""
    for scheme, (words, colour) in PACED.items():
        for ending, dashes, label in (("-pacer", "-", "pacers"), ("", ":", "no pacers")):
            places = experiment.numbered(scheme + ending)
            look = {"color": colour, "linestyle": dashes, "marker": "."}
            for axes, value in ((waits, wait_us), (times, large_ms)):
                plot.line(axes, places, value, label=f"{words}, {label}", **look)
    waits.set(ylabel="Wait at the port (µs), mean", title="Figure 11: latency", ylim=(0, None))
    times.set(ylabel="FCT of 10 MB (ms), mean", title="Figure 11: large files", ylim=(0, None))


def draw_slowdowns(experiment, axes):
    """Draws Figure 10: large files over the best without headroom, and processor sharing."""
    steps = [rho / 100 for rho in range(10, 66)]
    bases = [experiment.numbered(scheme) for scheme in ("tcp", "dctcp-30k")]
    for drain, colour in DRAINS.items():
        gamma = drain / 1000 - LOST
        for dashes, scale in (("-", 1.0), (":", EFFICIENCY)):
            rhos = [rho for rho in steps if rho / scale < gamma - 0.03]
            theory = [(1 - rho / scale) / (gamma - rho / scale) for rho in rhos]
            axes.plot([rho * 100 for rho in rhos], theory, dashes, color=colour, linewidth=1.0)
        found = {}
        for place, runs in experiment.numbered(f"pq{drain}-pacer").items():
            best = min((mean(each[place]) for each in bases if place in each), default=None)
            if best is not None:
                found[place] = mean(runs) / best
        shown = [min(slowdown, MAX) for slowdown in found.values()]
        words = f"PQ{drain}-Pacer, Figure 10"
        if found:
            axes.plot(list(found), shown, "o", color=colour, label=words, clip_on=False)
        for place, slowdown in found.items():
            if slowdown > MAX:
                look = {"textcoords": "offset points", "ha": "right", "va": "top", "color": colour}
                axes.annotate(f"{slowdown:.1f}", (place, MAX), xytext=(-6, -4), **look)
    axes.set(ylabel="Slowdown of 10 MB", ylim=(1, MAX))
    axes.set_title(r"Figure 10: $(1-\rho)/(\gamma-\rho)$; dotted: of the payload's rate")


def mean(runs):
    return sum(map(large_ms, runs)) / len(runs)
