"""FCT of short flows: TCP, Source Quench, FastLane, ideal notification."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
SCHEMES = {
    "tcp": ("TCP", plot.VERMILION),
    "tcp-drop-tail": ("TCP, no CoDel", plot.ORANGE),
    "source-quench": ("Source Quench", plot.PURPLE),
    "fastlane": ("FastLane", plot.BLUE),
    "ideal": ("ideal notification", plot.GREEN),
}


def figure(experiment):
    title = "Short flows at 60 % utilisation, a tenth of the load short"
    figure, axes = plot.panels(size=(7.6, 4.2), title=title)
    found = {
        name: [LIKE.us(runs[0], size) for size in LIKE.SIZES]
        for name in SCHEMES
        if (runs := experiment.get(name))
    }
    *_, last = found.values()
    ticks = [f"{size} KB\n{how}" for size, (how, _) in zip(LIKE.SIZES, last, strict=True)]
    # A scheme that was not run leaves its place.
    none = [None] * len(ticks)
    series = [
        (words, [us / 1e3 for _, us in found[name]] if name in found else none, colour)
        for name, (words, colour) in SCHEMES.items()
    ]
    plot.bars(axes, ticks, series, width=0.16, labels={"fmt": "%.2g", "fontsize": 5})
    axes.set_ylabel("Completion time (ms)")
    return figure
