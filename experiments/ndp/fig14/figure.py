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


def figure(experiment):
    return paper_and_all(experiment, PAPER, lambda each: draw(each, SERIES))


def paper_and_all(experiment, papers, draw):
    """Draws the series of the paper's figure; where there are more, all are another figure."""
    some = experiment.only(papers)
    if not some.runs or len(some.runs) == len(experiment.runs):
        return draw(experiment)
    return {"": draw(some), "-all": draw(experiment)}


def draw(experiment, series):
    title = "Permutation: every host sends to one and receives from one"
    figure, axes = plot.panels(size=(6.4, 5.6), title=title)
    link = experiment.runs[0].host_link
    plot.marked(axes, link.full_gbps, f"full link {link.full_gbps:.2f} Gb/s")
    for runs, look in plot.each(experiment, series, counted=True):
        plot.rank(axes, [run.goodputs_gbps() for run in runs], band=True, **look)
    plot.published(axes, experiment, AUTHORS)
    plot.by_rank(axes, 1.1 * link.gbps)
    axes.set_xlim(0, max(len(run.flows) for run in experiment.runs) - 1)
    return figure
