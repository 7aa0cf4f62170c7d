"""FCT of TCP with FastLane by the scale of both caps."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")


def figure(experiment):
    return by_scale(experiment, "TCP")


def by_scale(experiment, who):
    title = f"{who} with FastLane, 60 % utilisation, half of it short"
    figure, axes = plot.panels(size=(6.4, 4.4), title=title)
    draw_relative(axes, experiment.numbered("scale"), 1.0)
    words = (
        "Scale of both caps (1: 1 % of bandwidth, 3.2 KB)",
        "Completion time over that at scale 1",
    )
    plot.label(axes, *words, ylim=(0, None))
    axes.invert_xaxis()
    return figure


def draw_relative(axes, places, base):
    """Draws times over those at one place, a line a size; nothing without this place."""
    axes.set_visible(base in places)
    if base not in places:
        return
    for size, colour in LIKE.SIZES.items():
        how, first = LIKE.us(places[base][0], size)

        def relative(run, size=size, first=first):
            return LIKE.us(run, size)[1] / first

        plot.line(axes, places, relative, color=colour, marker=".", label=f"{size} KB, {how}")
    axes.axhline(1, color=plot.GREY, linewidth=0.8)
