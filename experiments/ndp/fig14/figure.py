"""Goodput of a permutation's flows by rank: ours with a band of all seeds, and the authors'.

The paper's series are one figure, all series another.
"""

from trimline import plot

PAPER = ("paper", "mptcp-100", "dctcp-100", "dcqcn")
DCTCP, MPTCP = plot.PROTOCOLS["dctcp"], plot.PROTOCOLS["mptcp"]
SERIES = {
    "csg-htsim": ("NDP, profile csg-htsim", plot.SKY),
    "htsim": ("NDP, profile htsim", "#999933"),
    "paper": ("NDP, profile paper", plot.BLUE),
    "dcqcn": ("DCQCN", plot.PROTOCOLS["dcqcn"]),
    "dcqcn-window": ("DCTCP's window over PFC", "#882255"),
    "dcqcn-window-htsim": ("htsim's window over PFC", "#332288"),
    "dctcp-100": ("DCTCP, queues of 100", DCTCP),
    "dctcp-194": ("DCTCP, queues of 194", DCTCP, ":"),
    "dctcp-200": ("DCTCP, queues of 200", DCTCP, "-."),
    "mptcp-100": ("MPTCP, queues of 100", MPTCP),
    "mptcp-200": ("MPTCP, queues of 200", MPTCP, "-."),
}
AUTHORS = {
    "ndp_gbps": ("NDP", plot.BLACK),
    "dctcp_gbps": ("DCTCP", DCTCP),
    "mptcp_gbps": ("MPTCP", MPTCP),
}
#: Panels of all series: what their names begin with, and the authors' column.
FAMILIES = {
    "NDP": (("csg-htsim", "htsim", "paper"), "ndp_gbps"),
    "DCTCP": (("dctcp",), "dctcp_gbps"),
    "MPTCP": (("mptcp",), "mptcp_gbps"),
    "Over PFC": (("dcqcn",), None),
}


def figure(experiment):
    return paper_and_all(experiment, PAPER, draw_paper, draw_all)


def paper_and_all(experiment, papers, draw, draw_all):
    """Draws the series of the paper's figure; where there are more, all are another figure."""
    some = experiment.only(papers)
    if not some.runs or len(some.runs) == len(experiment.runs):
        return draw(experiment)
    return {"": draw(some), "-all": draw_all(experiment)}


def title_of(experiment):
    seeds = plot.seeds(experiment.runs)
    return f"Permutation: every host sends to one and receives from one (simulated, {seeds})"


def draw_paper(experiment, series=SERIES):
    figure, axes = plot.panels(size=(6.4, 5.2), title=title_of(experiment))
    draw(axes, experiment, series, AUTHORS)
    return figure


def draw_all(experiment):
    title = title_of(experiment)
    figure, grid = plot.panels(2, 2, (10.4, 7.4), title, sharex=True, sharey=True)
    for axes, (family, (begins, column)) in zip(grid.flat, FAMILIES.items(), strict=True):
        series = {name: look for name, look in SERIES.items() if name.startswith(begins)}
        draw(axes, experiment, series, {column: AUTHORS[column]} if column else {})
        axes.set_title(family, loc="left")
        axes.label_outer()
    return figure


def draw(axes, experiment, series, authors):
    """Draws series by rank with a band of all seeds, and columns of the authors' numbers."""
    link = experiment.runs[0].host_link
    plot.marked(axes, link.full_gbps, f"full link {link.full_gbps:.2f} Gb/s")
    for runs, look in plot.each(experiment, series):
        plot.rank(axes, [run.goodputs_gbps() for run in runs], band=True, **look)
    plot.published(axes, experiment, authors)
    plot.by_rank(axes, 1.1 * link.gbps)
    axes.set_xlim(0, max(len(run.flows) for run in experiment.runs) - 1)
