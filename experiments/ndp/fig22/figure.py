"""Goodput of every flow by rank while a link has a tenth of its rate: ours and the authors'.

Of NDP every seed is a thin line.
"""

from trimline import plot

NDP = {
    "penalty": ("NDP, path penalty", plot.BLUE),
    "no-penalty": ("NDP, no path penalty", plot.SKY),
}
DCTCP, MPTCP = plot.PROTOCOLS["dctcp"], plot.PROTOCOLS["mptcp"]
OTHERS = {
    "mptcp-100": ("MPTCP, queues of 100", MPTCP),
    "mptcp-200": ("MPTCP, queues of 200", MPTCP, "-."),
    "dctcp-100": ("DCTCP, queues of 100", DCTCP),
    "dctcp-200": ("DCTCP, queues of 200", DCTCP, "-."),
}
AUTHORS = {
    "ndp_penalty_gbps": ("NDP, path penalty", plot.BLACK),
    "ndp_no_penalty_gbps": ("NDP, no path penalty", plot.BLACK, ":"),
    "mptcp_gbps": ("MPTCP", MPTCP),
    "dctcp_gbps": ("DCTCP", DCTCP),
}


def figure(experiment):
    seeds = plot.seeds(experiment.runs)
    title = f"Permutation while one link from a core has 1 Gb/s (simulated, {seeds})"
    figure, axes = plot.panels(size=(7.0, 5.0), title=title)
    for runs, look in plot.each(experiment, NDP | OTHERS):
        goodputs = [run.goodputs_gbps() for run in runs]
        for seed in goodputs if runs[0].series in NDP else []:
            axes.plot(sorted(seed), color=look["color"], linewidth=0.6, alpha=0.35)
        plot.rank(axes, goodputs, **look)
    plot.published(axes, experiment, AUTHORS)
    plot.by_rank(axes, 1.02 * experiment.runs[0].host_link.gbps)
    return figure
