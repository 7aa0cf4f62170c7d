"""The share of the load that is notifications of dropped packets."""

from trimline import plot

#: Bytes of a packet and of a notification (FastLane 3.3.1).
PACKET, NOTIFICATION = 800, 64
SERIES = (
    ("sent", "simulated, all that are generated", "o", plot.BLUE),
    ("capped", "simulated, none beyond the cap", "x", plot.VERMILION),
)


def figure(experiment):
    figure, axes = plot.panels(title="Notifications of 64 B for packets of 800 B")
    places = [0.1 * step for step in range(251)]
    axes.plot(places, list(map(equation, places)), color=plot.GREY, label="equation 1")
    for prefix, words, marker, colour in SERIES:
        found = {
            place: value
            for place, (run, *_) in experiment.numbered(prefix).items()
            for measure, value in run.answers
            if measure["quantity"] == "utilisation"
        }
        look = {"color": colour, "linestyle": "none", "label": words}
        axes.plot(list(found), list(found.values()), marker, **look)
    plot.marked(axes, 1.0, "the cap: 1 %")
    words = ("Packets that are dropped (%)", "Notifications (% of the load)")
    plot.label(axes, *words, xlim=(0, 25), ylim=(0, 2))
    return figure


def equation(percent):
    notified = percent / 100 * NOTIFICATION
    return 100 * notified / (PACKET + notified)
