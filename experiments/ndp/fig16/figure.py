"""An incast by its senders, a panel a question: the last, the first, the preferred flow.

The paper's series are one figure, all series another.
"""

from trimline import plot

PREFERRED = "prioritised"
PAPER = ("ndp", PREFERRED, "mptcp", "dctcp", "dcqcn")
#: The factor's effect on buffers that DCTCP shares is in the table; here it would only hide lines.
SERIES = {
    "htsim": ("NDP, profile htsim", "#999933"),
    "ndp": ("NDP", plot.BLUE),
    "dcqcn": ("DCQCN", plot.PROTOCOLS["dcqcn"]),
    "dcqcn-window": ("DCTCP's window over PFC", "#882255"),
    "dcqcn-window-htsim": ("htsim's window over PFC", "#332288"),
    "dctcp": ("DCTCP", plot.PROTOCOLS["dctcp"]),
    "dctcp-shared": ("DCTCP, shared buffers", "#7A3E00"),
    "mptcp": ("MPTCP", plot.PROTOCOLS["mptcp"]),
    "phost": ("pHost", plot.ORANGE),
    "phost-free-for-short": ("pHost free for short", plot.ORANGE),
    "phost-one-queue": ("pHost one queue", plot.ORANGE),
    "phost-slow-rts": ("pHost slow rts", plot.ORANGE),
}


def figure(experiment):
    return plot.load(__file__, "ndp/fig14").paper_and_all(experiment, PAPER, draw)


def senders(run):
    """Returns the number of senders, the preferred one included."""
    return len(run.flows)


def draw(experiment):
    every = [run for run in experiment.runs if run.series != PREFERRED]
    ideal, counts = plot.Ideal.of(every), sorted(plot.by(every, senders))
    title = f"Incast: each sender {ideal.size_bytes // 1000} KB to one receiver"
    figure, grid = plot.panels(2, 2, (10.4, 7.0), title, sharex=True)
    (last, over), (first, preferred) = grid
    ends = {axes: [] for axes in grid.flat}

    def line(axes, runs, value, words, colour):
        places, means = plot.line(axes, plot.by(runs, senders), value, band=True, color=colour)
        ends[axes].append((places[-1], means[-1], f"{words} ({plot.seeds(runs)})", colour))

    for axes in (last, preferred):
        axes.plot(counts, [ideal.ms(count) for count in counts], color=plot.GREY, linestyle=":")
        ends[axes].append((counts[-1], ideal.ms(counts[-1]), "ideal: link never idle", plot.GREY))
    for runs, look in plot.each(experiment, SERIES):
        line(last, runs, plot.Run.last_ms, *look.values())
        line(first, runs, lambda run: run.fct_ms()[0], *look.values())
        line(
            over, runs, lambda run: ideal.over_percent(run.last_ms(), senders(run)), *look.values()
        )
    if runs := experiment.get(PREFERRED):
        line(preferred, runs, lambda run: run.fct_ms(PREFERRED)[-1], "preferred flow", plot.PURPLE)
    if runs := experiment.get("ndp"):
        line(preferred, runs, plot.Run.last_ms, "last of the others", plot.BLUE)
    if reference := experiment.reference:
        at = reference["senders"]
        values = {last: [1e3 * each for each in reference["fct_max_s"]]}
        values[first] = [1e3 * each for each in reference["fct_min_s"]]
        values[over] = list(map(ideal.over_percent, values[last], at))
        for axes, each in values.items():
            dots = {"linestyle": "none", "color": plot.BLACK, "marker": "o", "markersize": 3}
            axes.plot(at, each, label="NDP, authors' htsim", **dots)
            axes.legend(loc="upper left")
    questions = {
        last: "When is the last flow done?",
        over: "By how much over the ideal?",
        first: "When is the first flow done?",
        preferred: "And one that is pulled before the others?",
    }
    for axes, question in questions.items():
        axes.set_title(question, loc="left")
        plot.label(axes, "", "FCT (ms)", log="y", xlim=(0, max(counts) * 1.01))
    over.axhline(0, color=plot.GREY, linewidth=0.8, linestyle=":")
    # From a tenth of a percent to the thousands that time-outs cost; above them stands the legend.
    over.set_yscale("symlog", linthresh=0.1)
    over.set(ylim=(0, 5_000), ylabel="Over the ideal (%)")
    plot.plain(over, "y")
    for axes in (first, preferred):
        axes.set_xlabel("Senders")
    for axes, found in ends.items():
        plot.direct(axes, found)
    return figure
