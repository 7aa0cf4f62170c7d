"""Goodput back to back by initial window: pull spacing, and hosts that take time."""

from trimline import plot

SERIES = {
    "simulated": ("perfect pull spacing", plot.BLUE),
    "simulated-hosts": ("hosts take 12 µs a round trip", plot.ORANGE),
    "simulated-hosts-spread": ("hosts take 8 to 16 µs", plot.PURPLE, "--"),
    "simulated-drawn": ("drawn pull spacing (synthetic)", plot.VERMILION, "--"),
    "simulated-measured": ("drawn pull spacing (measured)", plot.GREEN, ":"),
}


def figure(experiment):
    figure, axes = plot.panels()
    link = experiment["simulated"][0].host_link
    plot.marked(axes, link.full_gbps, f"full link {link.full_gbps:.2f} Gb/s")
    for runs, look in plot.each(experiment, SERIES):
        places = plot.by(runs, "initial_window")
        plot.line(axes, places, plot.Run.mean_goodput_gbps, marker=".", **look)
    plot.marked_at(axes, 15, "paper: the simulator is full at 15", 0.1)
    plot.marked_at(axes, 25, "paper: the Linux stack at 25")
    words = (f"Initial window (packets of {link.payload_bytes} B)", "Goodput (Gb/s)")
    title = "NDP, simulated: two hosts back to back, fifteen packets of cable"
    plot.label(axes, *words, title, ylim=(0, 1.05 * link.gbps), xlim=(0, None))
    return figure
