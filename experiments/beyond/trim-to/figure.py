"""To whom a trimmed packet goes: an incast, a congested core, a slow link; a line a way."""

import polars

from trimline import plot

#: Less over the ideal than this is nothing, in percent.
MIN = 0.05
SCHEMES = {
    "receiver": ("to receiver (NDP)", plot.BLUE, "-"),
    "arriving": ("to receiver, without a coin", plot.SKY, "--"),
    "sender": ("to sender", plot.VERMILION, "-"),
    "both": ("to both", plot.PURPLE, "-."),
    "notify": ("notification (FastLane)", plot.GREEN, "--"),
    "drop": ("dropped", plot.BLACK, ":"),
}


def figure(experiment):
    figure, row = plot.panels(1, 3, (10.5, 4.0), "To whom a trimmed packet goes")
    works = {"incast": draw_incast, "core": draw_core, "slow": draw_slow}
    for axes, (work, draw) in zip(row, works.items(), strict=True):
        series = {f"{work}-{scheme}": look for scheme, look in SCHEMES.items()}
        for runs, look in plot.each(experiment, series):
            draw(axes, runs, **look)
    words = ("Senders of 135 KB", "Last flow over the ideal (%)", "Incast, 432 hosts")
    plot.label(row[0], *words, log="xy")
    words = ("Flow completion time (ms)", "Share of flows", "Web traffic, 8:1 oversubscribed")
    plot.label(row[1], *words, log="x", ylim=(0, 1.02))
    words = ("Flow, by rank", "Goodput (Gb/s)", "Permutation beside a link of 1 Gb/s")
    plot.label(row[2], *words, ylim=(0, None))
    return figure


def draw_incast(axes, runs, **look):
    # Where every flow ended.
    ideal = plot.Ideal.of(runs)
    whole = [run for run in runs if not run.flows["fct_receiver_ps"].null_count()]

    def overhead(run):
        # What is less is drawn at the edge.
        return max(MIN, ideal.over_percent(max(run.fct_ms()), run.place("senders")))

    plot.line(axes, plot.by(whole, "senders"), overhead, marker=".", **look)


def draw_core(axes, runs, **look):
    # Perhaps none ended.
    times = polars.concat([run.flows["fct_receiver_ps"] for run in runs])
    plot.cdf(axes, times.drop_nulls() / 1e9, len(times), **look)


def draw_slow(axes, runs, **look):
    plot.rank(axes, [run.goodputs_gbps() for run in runs], **look)
