"""Goodput of a permutation with small packets against 9000 B: a panel a payload."""

from trimline import plot

#: Payloads, each with its goal against 9000 B in percent.
GOALS = {1500: -6.0, 750: -12.0}
#: What follows the payload in the name of a series, and what it is.
OPTIONS = {
    "": "as the paper has it",
    "-window": "first window in bytes",
    "-queue": "data queue in bytes",
    "-acks": "joined ACKs",
    "-all": "all three",
}


def changes(experiment):
    """Returns by payload and option by how many percent goodput is more than with 9000 B."""
    base, found = experiment["9000"], {}
    for payload in GOALS:
        for option in OPTIONS:
            if runs := experiment.needed(f"{payload}{option}"):
                found.setdefault(payload, {})[option] = plot.percent(
                    runs, base, plot.Run.mean_goodput_gbps
                )
    if not found:
        raise plot.MalformedResult(f"{experiment.folder}: no series of small packets")
    return found


def figure(experiment):
    found = changes(experiment)
    every = [change for by_option in found.values() for change in by_option.values()]
    title = (
        f"Permutation, NDP with small packets ({plot.seeds_words([each.seeds for each in every])})"
    )
    size = (6.4, 0.9 + 1.5 * len(found))
    figure, grid = plot.panels(len(found), 1, size, title, sharex=True, squeeze=False)
    for axes, (payload, by_option) in zip(grid.flat, found.items(), strict=True):
        plot.rows_at(axes, [OPTIONS[option] for option in by_option])
        axes.axvline(0, color=plot.GREY, linewidth=0.8)
        goal = GOALS[payload]
        axes.axvline(goal, color=plot.BLACK, linewidth=1.0, linestyle="--")
        plot.above(axes, goal, f"goal: at most {-goal:g} % less", plot.BLACK)
        for y, (option, change) in enumerate(by_option.items()):
            colour = plot.GREEN if option else plot.BLUE
            plot.dot(axes, plot.ends(change.measure), y, colour)
            plot.beside(axes, y, plot.signed(change.measure), colour)
        axes.set_title(f"Packets of {payload} B", loc="left", fontsize=9)
    places = [end for each in every for end in plot.ends(each.measure)]
    axes = grid[-1][0]
    axes.set_xlim(1.1 * min(*places, *GOALS.values()), max(3, 1.1 * max(places)))
    axes.set_xlabel("Mean goodput against packets of 9000 B (%)")
    return figure
