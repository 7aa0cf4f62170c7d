"""Slowdown of Homa by size of message at two loads."""

from trimline import plot

LOADS = {"50": ("load of 50 %", plot.BLUE), "80": ("load of 80 %", plot.VERMILION)}


def figure(experiment):
    workload = experiment.identifier.split("/")[1]
    return by_workload(experiment, (workload,), "Homa on its authors' network")


def by_workload(experiment, workloads, title):
    title = f"{title} (solid: median; dashed: 99th percentile)"
    size = (1.4 + 3.0 * len(workloads), 4.0)
    figure, grid = plot.panels(1, len(workloads), size, title, sharey=True, squeeze=False)
    for axes, workload in zip(grid[0], workloads, strict=True):
        series = {f"{workload}-{load}": look for load, look in LOADS.items()}
        for runs, look in plot.each(experiment, series):
            plot.slowdowns(axes, runs[0], **look)
        plot.label(axes, "Size (B)", title=workload.upper(), log="xy")
    grid[0][0].set_ylabel("Slowdown at the receiver")
    return figure
