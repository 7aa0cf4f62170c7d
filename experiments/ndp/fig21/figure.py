"""Goodput of five flows that share a sender's and a receiver's link: the paper's, ours."""

from trimline import plot

WIDTH = 0.38


def figure(experiment):
    findings = [each for each in experiment.findings if each.unit == "Gb/s"]
    if not findings or any(None in (each.paper, each.ours) for each in findings):
        raise plot.MalformedResult(
            "findings.json: findings in Gb/s need the paper's value and ours"
        )
    figure, axes = plot.panels()
    series = [
        ("NDP, paper", [each.paper for each in findings], plot.GREY),
        ("NDP, simulated", [each.ours for each in findings], plot.BLUE),
    ]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    words = {"fmt": "%.2f", "label_type": "center", "fontsize": 7, "bbox": box}
    names = [each.name for each in findings]
    plot.bars(axes, names, series, width=WIDTH, labels=words, edgecolor="white")
    for bar in axes.containers[0]:
        bar.set_hatch("//")
    for place, each in enumerate(findings):
        if each.lo is not None and each.hi is not None:
            plot.accepted(axes, place + WIDTH / 2, each.lo, each.hi, 1.1 * WIDTH)
    title = "Sender-limited traffic: A sends to B, C, D and E; F to E"
    plot.label(axes, "Flow", "Goodput (Gb/s)", title)
    return figure
