"""FCT of TCP, with FastLane and without, by the memory of a port."""

from trimline import plot


def figure(experiment):
    return by_memory(experiment, {"fl-ps": "TCP with FastLane", "tcp": "TCP"}, 128)


def by_memory(experiment, schemes, base):
    """Draws a panel a scheme, a line a size, and a dashed line for long flows."""
    title = "60 % utilisation, half of it short"
    figure, row = plot.panels(1, 2, (8.8, 4.6), title, sharey=True)
    for axes, (scheme, words) in zip(row, schemes.items(), strict=True):
        places = experiment.numbered(scheme)
        plot.load(__file__, "fastlane/fig10").draw_relative(axes, places, base)
        if base in places:
            draw_long(axes, places, base)
        axes.set_title(words, fontsize=9)
        axes.set(xlabel="Memory of a port (KB)", xticks=[base, base / 2, base / 4])
        axes.invert_xaxis()
    row[0].set_ylabel(f"Completion time over that at {base:g} KB")
    return figure


def draw_long(axes, places, base):
    """Draws the mean time of long flows over that at `base`, of runs that measure it."""
    long_ms = plot.load(__file__, "fastlane/fig06").long_ms
    asked = {
        place: runs
        for place, runs in places.items()
        if any(measure.get("workload") == "long" for measure, _ in runs[0].answers)
    }
    look = {"color": plot.GREY, "linestyle": "--", "marker": ".", "label": "1 MB, mean"}
    plot.line(axes, asked, lambda run: long_ms(run) / long_ms(places[base][0]), **look)
