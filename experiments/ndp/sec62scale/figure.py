"""Mean goodput of a permutation by number of hosts, with the paper's numbers and ranges."""

from trimline import plot


def figure(experiment):
    figure, axes = plot.panels()
    sizes = experiment.numbered("hosts")
    look = {"color": plot.BLUE, "marker": "o", "label": "NDP mean, simulated"}
    plot.line(axes, sizes, plot.Run.mean_goodput_percent, **look)
    look = {"color": plot.SKY, "marker": ".", "label": "NDP slowest flow, simulated"}
    plot.line(axes, sizes, slowest_percent, linestyle="--", **look)
    paper = []
    for finding in experiment.findings:
        size = next((size for size in sizes if f" {size:g} hosts" in finding.name), None)
        if size is None:
            continue
        if finding.paper is not None:
            paper.append((size, finding.paper))
        if finding.lo is not None and finding.hi is not None:
            plot.accepted(axes, size, finding.lo, finding.hi, 0.08 * size)
    if paper:
        look = {"color": plot.BLACK, "marker": "x", "linestyle": "none"}
        axes.plot(*zip(*paper, strict=True), label="NDP mean, paper", **look)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(sizes), [f"{size:g}" for size in sizes])
    axes.minorticks_off()
    words = ("Hosts", f"Goodput (% of {experiment.runs[0].host_link.gbps:g} Gb/s)")
    plot.label(axes, *words, "Permutation on FatTrees of growing size, IW 30", ylim=(60, 100))
    return figure


def slowest_percent(run):
    return run.link_percent(run.number("goodput_gbps", "min"))
