"""Distributions of the FCT beside long-lived flows, and the report's points: Figures 4 to 7."""

import re

from matplotlib.lines import Line2D

from trimline import plot

LIKE = plot.load(__file__, "ndp-evaluation/tables2-9")
#: Figures of the report, by what findings call a distribution of sizes.
FIGURES = {"Web of NDP's paper": 4, "Web": 5, "Hadoop": 6, "Cache": 7}
#: What names of series end with: words, and the key of the colour.
ENDS = {"ndp": "NDP", "dctcp": "DCTCP", "dcqcn": "DCQCN", "mptcp": "MPTCP"}
#: Name of a finding: panel, protocol, a time of the report.
POINT = re.compile(r"(?P<panel>.+), (?P<protocol>\w+): ended within (?P<us>[\d.]+) us")


def points_of(findings):
    """Returns the report's points by panel and protocol: the time in ms, and the finding."""
    found = {}
    for one in findings:
        if one.paper is not None and (name := POINT.fullmatch(one.name)):
            point = (float(name["us"]) / 1e3, one)
            found.setdefault((name["panel"], name["protocol"]), []).append(point)
    return found


def distance(points):
    """Returns the largest distance of our shares from the report's, in points, where judged."""
    judged = [one for _, one in points if one.ours is not None and one.lo is not None]
    return max((abs(one.ours - one.paper) for one in judged), default=None)


def figure(experiment):
    shown = LIKE.panels_of(experiment)
    number_of = {title: FIGURES.get(title.rpartition(" ")[0]) for title in shown}
    order = sorted(shown, key=lambda title: (number_of[title] or max(FIGURES.values()) + 1, title))
    drawing, grid = LIKE.grid_of(order)
    drawn, points = {}, points_of(experiment.findings)
    for axes, panel in zip(grid.flat, order, strict=False):
        lines = []
        for end, words in ENDS.items():
            if not (runs := shown[panel].get(end)):
                continue
            look = {"color": plot.PROTOCOLS[end]}
            every = LIKE.transfers(runs)["ms"]
            plot.cdf(axes, every.drop_nulls(), len(every), linewidth=1.2, **look)
            drawn[words] = Line2D([], [], label=f"{words} ({plot.seeds(runs)})", **look)
            of_report = points.get((panel, words), [])
            for ms, one in of_report:
                at = (ms, one.paper / 100)
                axes.plot(*at, "o", markersize=4, markeredgecolor="white", **look)
            if (largest := distance(of_report)) is not None:
                lines.append(f"{words} {largest:.0f}")
        if lines:
            text = "largest distance:\n" + "\n".join(lines)
            axes.text(0.98, 0.04, text, transform=axes.transAxes, ha="right", fontsize=7)
        number = number_of[panel]
        axes.set_title(f"Figure {number}: {panel}" if number else panel, loc="left")
        plot.label(axes, log="x", ylim=(0, 1.02))
    return LIKE.finish(drawing, grid, len(order), drawn, bool(points))
