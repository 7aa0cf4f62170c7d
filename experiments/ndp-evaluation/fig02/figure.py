"""Goodput of a permutation's flows by rank, as in Figure 14 of NDP."""

from trimline import plot

SERIES = {
    "ndp": ("NDP", plot.BLUE),
    "ndp-paper": ("NDP paper", plot.BLUE),
    "dcqcn": ("DCQCN", plot.PROTOCOLS["dcqcn"]),
    "dctcp": ("DCTCP", plot.PROTOCOLS["dctcp"]),
    "mptcp": ("MPTCP", plot.PROTOCOLS["mptcp"]),
}


def figure(experiment):
    return plot.load(__file__, "ndp/fig14").draw_paper(experiment, SERIES)
