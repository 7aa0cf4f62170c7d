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
    "phost-free-for-short": ("pHost, free for short", plot.ORANGE, "--"),
    "phost-one-queue": ("pHost, one queue", plot.ORANGE, ":"),
    "phost-slow-rts": ("pHost, slow RTS", plot.ORANGE, "-."),
}


def figure(experiment):
    return plot.load(__file__, "ndp/fig14").paper_and_all(experiment, PAPER, draw, draw)


def senders(run):
    """Returns the number of senders, the preferred one included."""
    return len(run.flows)


def draw(experiment):
    every = [run for run in experiment.runs if run.series != PREFERRED]
    ideal, counts = plot.Ideal.of(every), sorted(plot.by(every, senders))
    size_kb = ideal.size_bytes // 1000
    title = f"Incast: each sender {size_kb} KB to one receiver (simulated, {plot.seeds(every)})"
    figure, grid = plot.panels(2, 2, (10.4, 7.4), title, sharex=True)
    (last, over), (first, preferred) = grid

    def line(axes, runs, value, **look):
        plot.line(axes, plot.by(runs, senders), value, band=True, **look)

    for runs, look in plot.each(experiment, SERIES):
        line(last, runs, plot.Run.last_ms, **look)
        line(first, runs, lambda run: run.fct_ms()[0], **look)
        line(over, runs, lambda run: ideal.over_percent(run.last_ms(), senders(run)), **look)
    if runs := experiment.get(PREFERRED):
        look = {"label": "preferred flow", "color": plot.PURPLE}
        line(preferred, runs, lambda run: run.fct_ms(PREFERRED)[-1], **look)
        if runs := experiment.get("ndp"):
            look = {"label": "last of the others", "color": plot.BLUE}
            line(preferred, runs, plot.Run.last_ms, **look)
    if reference := experiment.reference:
        at = reference["senders"]
        values = {last: [1e3 * each for each in reference["fct_max_s"]]}
        values[first] = [1e3 * each for each in reference["fct_min_s"]]
        values[over] = list(map(ideal.over_percent, values[last], at))
        for axes, each in values.items():
            dots = {"linestyle": "none", "color": plot.BLACK, "marker": "o", "markersize": 3}
            axes.plot(at, each, label="NDP, authors' htsim", **dots)
    titles = {
        last: "Last flow",
        over: "Last flow over the ideal",
        first: "First flow",
        preferred: "A flow that is pulled before the others",
    }
    for axes, words in titles.items():
        axes.set_title(words, loc="left")
        plot.label(axes, "", "FCT (ms)", log="y", xlim=(0, max(counts) * 1.01))
    over.set_ylabel("Over the ideal (%)")
    for axes in grid[1]:
        axes.set_xlabel("Senders")
    over.set_yscale("symlog", linthresh=0.1)
    over.set_ylim(0, None)
    plot.plain(over, "y")
    plot.named_at_ends(*grid.flat)
    look = {"color": plot.GREY, "linestyle": ":", "label": "ideal: link never idle"}
    for axes in (last, preferred) if experiment.get(PREFERRED) else (last,):
        axes.plot(counts, [ideal.ms(count) for count in counts], **look)
    return figure
