"""FCT of TCP with FastLane over that of TCP, by utilisation."""

from trimline import plot

SCHEMES = {
    "fl-fh": ("TCP with FastLane, flow hashing", plot.BLACK),
    "fl-ps": ("TCP with FastLane, packet scatter", plot.GREY),
}
#: Sizes of responses in KB.
SIZES = {2: plot.BLUE, 4: plot.SKY, 8: plot.GREEN, 16: plot.ORANGE, 32: plot.VERMILION}
LOADS = (20, 40, 60, 80)


def figure(experiment):
    title = "TCP with FastLane over TCP, a tenth of the load short"
    return by_place(experiment, SCHEMES, "tcp", "Utilisation (%)", LOADS, title)


def by_place(experiment, schemes, base, xlabel, ticks, title):
    """Draws a panel a scheme with a line a size, and one of long flows."""
    size = (3.3 * (len(schemes) + 1), 4.2)
    figure, row = plot.panels(1, len(schemes) + 1, size, title, squeeze=False)
    *short, long = row[0]
    for axes, (scheme, (words, colour)) in zip(short, schemes.items(), strict=True):
        draw_changes(axes, experiment, scheme, base)
        axes.set_title(words, fontsize=9)
        axes.set_ylim(-100, 40)
        places, values = changes(experiment, scheme, base, long_ms)
        if places:
            long.plot(places, values, color=colour, marker=".", label=f"1 MB: {words}")
    long.axhline(0, color=plot.GREY, linewidth=0.8)
    long.set_title("1 MB, mean", fontsize=9)
    label(row[0], xlabel, ticks)
    return figure


def label(row, xlabel, ticks):
    for axes in row:
        axes.set(xlabel=xlabel, xticks=ticks)
    row[0].set_ylabel("Completion time over that without FastLane (%)")


def changes(experiment, scheme, base, value):
    """Returns places, and by how many percent a number exceeds the base's there."""
    own, other = experiment.numbered(scheme), experiment.numbered(base)
    both = [place for place in own if place in other]
    return both, [plot.percent(own[each], other[each], value).measure.mean for each in both]


def draw_changes(axes, experiment, scheme, base):
    """Draws a line a size: by how many percent its time exceeds the base's. Returns the places."""
    for size, colour in SIZES.items():
        places, values = changes(experiment, scheme, base, lambda run, size=size: us(run, size)[1])
        if not places:
            continue
        runs = [experiment.numbered(scheme)[place][0] for place in places]
        quantiles = " or ".join(sorted({us(run, size)[0] for run in runs}))
        axes.plot(places, values, color=colour, marker=".", label=f"{size} KB, {quantiles}")
    axes.axhline(0, color=plot.GREY, linewidth=0.8)
    return places


def us(run, size):
    """Returns the measured quantile of responses of `size` KB, and its value in us."""
    wanted = ("fct", "us", {"from": 1000 * size, "below": 1000 * size + 1})
    for measure, value in run.answers:
        if (measure["quantity"], measure.get("unit"), measure.get("size_bytes")) == wanted:
            return measure["reduce"], value
    raise plot.MalformedResult(f"{run.folder}: measures.json has no time of {size} KB")


def long_ms(run):
    return run.answer(quantity="fct", workload="long", reduce="mean", unit="ms")
