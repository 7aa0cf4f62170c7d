"""A very large incast: the last flow over the ideal, and retransmissions by cause."""

from trimline import plot

WINDOWS = ((1, plot.ORANGE), (10, plot.GREEN), (23, plot.BLUE))
CAUSES = (
    ("nack", "rtx_nack", "NACK", plot.VERMILION),
    ("return", "rtx_return_to_sender", "return to sender", plot.PURPLE),
)


def figure(experiment):
    figure, (above, below) = plot.panels(
        2, 1, (6.4, 6.0), "Incast of 270 KB to one of 8192 hosts", sharex=True
    )
    columns = experiment.reference

    def draw(axes, window, value, colour, label, column, published):
        places = plot.by(experiment[f"window-{window}"], flows)
        # The line between a few places was not measured.
        few = {"marker": "s", "markersize": 4, "markerfacecolor": "white"}
        plot.line(
            axes, places, value, color=colour, label=label, **(few if len(places) < 30 else {})
        )
        if columns:
            rows = zip(columns["initial_window"], columns["senders"], columns[column], strict=True)
            points = [(n, published(number, n)) for own, n, number in rows if own == window]
            axes.plot(*zip(*points, strict=True), ".", color=colour, markersize=3, alpha=0.6)

    for window, colour in WINDOWS:
        # The largest has the farthest sender.
        ideal = plot.Ideal.of([max(experiment[f"window-{window}"], key=flows)])
        draw(
            above,
            window,
            lambda run, ideal=ideal: ideal.over_percent(last_ms(run), flows(run)),
            colour,
            f"IW {window}, simulated",
            "fct_max_s",
            lambda seconds, n, ideal=ideal: ideal.over_percent(seconds * 1e3, n),
        )
    for cause, column, words, colour in CAUSES:
        draw(
            below,
            23,
            lambda run, cause=cause: resent(run, cause),
            colour,
            f"because of {words}, simulated",
            column,
            lambda number, n: number / (30 * n),
        )
    for axes in (above, below):
        axes.plot([], [], ".", color=plot.GREY, markersize=4, label="authors' htsim")
    above.set(ylabel="Last flow over the ideal (%)", ylim=(-0.05, 1000))
    above.set_yscale("symlog", linthresh=0.1)
    plot.plain(above, "y")
    plot.label(below, "Senders", "Retransmissions per packet, IW 23", log="x", ylim=(0, None))
    return figure


def flows(run):
    return run.number("flows", "total")


def last_ms(run):
    return run.number("fct_receiver_us", "max") / 1e3


def resent(run, cause):
    """Returns the retransmissions for this cause, for each packet that was delivered."""
    return run.number("retransmissions", cause) / run.number("packets_delivered")
