"""The share of a switch's memory that notifications of simultaneous bursts take."""

from trimline import plot

#: Bytes of a packet, of a notification, of a burst and of a switch's memory; its ports.
PACKET, NOTIFICATION, BURST, MEMORY, PORTS = 800, 64, 160_000, 6_144_000, 48


def figure(experiment):
    title = "Bursts of 160 KB into a switch of 48 ports and 6144 KB"
    figure, axes = plot.panels(title=title)
    bursts = range(1, PORTS + 1)
    axes.plot(bursts, list(map(equation, bursts)), color=plot.GREY, label="equation 2")
    look = {"color": plot.BLUE, "linestyle": "none", "marker": "o", "label": "simulated"}
    places = {
        number: runs
        for name in experiment.series
        for number, runs in experiment.numbered(name.rpartition("-")[0]).items()
    }
    plot.line(axes, dict(sorted(places.items())), percent, **look)
    words = ("Simultaneous bursts", "Notifications (% of the memory)")
    plot.label(axes, *words, xlim=(0, PORTS + 1), ylim=(0, 3))
    return figure


def equation(bursts):
    """Returns the percent of the memory (FastLane 3.3.2)."""
    notified = bursts * BURST * NOTIFICATION / PACKET * (1 - bursts / PORTS)
    return 100 * notified / MEMORY


def percent(run):
    return 100 * run.answer(quantity="port_notified") * NOTIFICATION / MEMORY
