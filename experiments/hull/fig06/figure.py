"""Waits at the switch, round trips and goodput by beta of the pacer."""

from trimline import plot

LIKE = plot.load(__file__, "hull/fig08")
WAITS = {"ping": (plot.VERMILION, "pings: pacer and switch"), "probe": (plot.BLUE, "switch")}


def figure(experiment):
    title = "Two paced flows over a phantom queue of 950 Mb/s and 1 KB"
    figure, (left, right) = plot.panels(1, 2, (8.6, 4.0), title)
    for name, words, dashes in (("paced", "", "-"), ("bursts", ", bursty hosts", ":")):
        places = plot.by(experiment.get(name), "backlog_gain")
        for workload, (colour, label) in WAITS.items():
            look = {"color": colour, "marker": ".", "linestyle": dashes}

            def wait(run, workload=workload):
                return LIKE.mean_wait_us(run, workload)

            plot.line(left, places, wait, label=label + words, **look)
        plot.line(right, places, LIKE.goodput_mbps, **look)
    left.set(xlabel="β", ylabel="Mean wait (µs)", ylim=(0, None))
    right.set(xlabel="β", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure
