"""Goodput of a permutation by initial window, for data queues of several sizes."""

from trimline import plot

#: Of queue sizes, from small to large.
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#000000")
MARKS = ("v", "o", "s", "x")


def figure(experiment):
    title = f"Permutation, NDP, simulated ({plot.seeds(experiment.runs)})"
    figure, grid = plot.panels(2, 2, (7.2, 5.6), title, sharex=True, sharey=True)
    for row, hosts in zip(grid, (128, 432), strict=True):
        for axes, payload in zip(row, (9000, 1500), strict=True):
            queues = plot.by(experiment[f"{hosts}-{payload}"], "data_queue")
            for (queue, runs), colour, mark in zip(queues.items(), SHADES, MARKS, strict=False):
                look = {"color": colour, "marker": mark, "markersize": 4}
                places, label = plot.by(runs, "initial_window"), f"data queue of {queue:g}"
                plot.line(axes, places, plot.Run.mean_goodput_percent, label=label, **look)
            if payload == 9000:
                words = "paper: above 95 % with 8 packets and IW 20 or more"
                axes.axhline(95, color=plot.VERMILION, linewidth=0.9, linestyle=":", label=words)
                words = "paper: about 90 % with 6"
                axes.axhline(90, color=plot.VERMILION, linewidth=0.9, linestyle="--", label=words)
            axes.set(title=f"{hosts} hosts, packets of {payload} B", ylim=(0, 104), xlim=(0, None))
    for axes in grid[:, 0]:
        axes.set_ylabel(f"Goodput (% of {experiment.runs[0].host_link.gbps:g} Gb/s)")
    for axes in grid[1]:
        axes.set_xlabel("Initial window (packets)")
    return figure
