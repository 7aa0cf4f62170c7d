"""FCT of transfers beside long-lived flows, by distribution of sizes and load."""

import polars
from matplotlib.lines import Line2D

from trimline import plot

#: Names of series begin with a distribution of sizes: what findings and panels call it.
SIZES = {
    "webndp": "Web of NDP's paper",
    "web": "Web",
    "cache": "Cache",
    "hadoop": "Hadoop",
    # The quick tier's, which the figure does not need.
    "small": "16 hosts",
}
#: And go on with a load.
LOADS = {"1to1": "1:1", "4to1": "4:1"}
#: And end with these: words, protocol, line.
ENDS = {
    "ndp": ("NDP", "ndp", "-"),
    "dctcp": ("DCTCP", "dctcp", "-"),
    "dcqcn": ("DCQCN", "dcqcn", "-"),
    "mptcp": ("MPTCP", "mptcp", "-"),
    "mptcp-uncoupled": ("MPTCP uncoupled", "mptcp", "--"),
}
#: What the report says of a distribution, and at which share of the transfers.
QUANTILES = {"median": 0.50, "95th percentile": 0.95, "99th percentile": 0.99}
SIZE = "size_bytes"


def transfers(runs):
    """Returns the transfers that began: seed, size, FCT at the sender in ms if they ended."""
    found = []
    for run in runs:
        began = run.of_workload("transfer").filter(polars.col("start_ps").is_not_null())
        if not len(began):
            raise plot.MalformedResult(f"{run.folder}: no flow of `transfer` began")
        ms = polars.col("fct_sender_ps") / 1e9
        found.append(began.select(polars.lit(run.seed).alias("seed"), SIZE, ms=ms))
    return polars.concat(found)


def panels_of(experiment):
    """Returns runs by the title of a panel, then by what the series' name ends with."""
    found = {}
    for series, runs in experiment.series.items():
        sizes, _, rest = series.partition("-")
        load, _, end = rest.partition("-") if sizes != "small" else ("", "", rest)
        if sizes not in SIZES or (load and load not in LOADS):
            raise plot.MalformedResult(f"{experiment.folder}: no sizes and load: {series!r}")
        found.setdefault((sizes, load), {})[end] = runs
    if any(load for _, load in found):
        found = {key: ends for key, ends in found.items() if key[1]}
    order = sorted(found, key=lambda key: (list(SIZES).index(key[0]), key[1]))
    titles = {key: " ".join(filter(None, (SIZES[key[0]], LOADS.get(key[1])))) for key in order}
    return {titles[key]: found[key] for key in order}


def published(findings, name):
    """Returns the report's quantiles of a row: times in ms, and their shares of the transfers."""
    for words, share in QUANTILES.items():
        of_it = [one.paper for one in findings if one.name.startswith(f"{name}: {words}")]
        if of_it and of_it[0] is not None:
            yield of_it[0] / 1e3, share


def grid_of(titles):
    """Returns a figure with a panel for each title, a column for each load, and its axes."""
    columns = len({title.endswith(LOADS["4to1"]) for title in titles})
    rows = -(-len(titles) // columns)
    title = "One transfer after the other beside long-lived flows"
    size = (max(6.4, 4.6 * columns), 0.9 + 2.1 * rows)
    return plot.panels(rows, columns, size, title, sharex=True, sharey=True, squeeze=False)


def finish(drawing, grid, count, drawn, has_points):
    """Hides panels beyond `count`, names axes, and adds a legend, with the report's points."""
    for axes in grid.flat[count:]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("FCT at the sender (ms)")
    for axes in grid[:, 0]:
        axes.set_ylabel("Share of transfers")
    handles = list(drawn.values())
    if has_points:
        dot = {"color": plot.GREY, "marker": "o", "markersize": 4, "linestyle": ""}
        handles.append(Line2D([], [], label="the report's", **dot))
    columns = 5 if len(grid[0]) > 1 else 3
    drawing.legend(handles=handles, loc="outside lower center", ncols=columns)
    return drawing


def figure(experiment):
    shown = panels_of(experiment)
    drawing, grid = grid_of(shown)
    drawn, reported = {}, False
    for axes, (title, ends) in zip(grid.flat, shown.items(), strict=False):
        for end, (words, protocol, dashes) in ENDS.items():
            if not (runs := ends.get(end)):
                continue
            look = {"color": plot.PROTOCOLS[protocol], "linestyle": dashes}
            every = transfers(runs)["ms"]
            if every.count():
                plot.cdf(axes, every.drop_nulls(), len(every), linewidth=1.2, **look)
            drawn[words] = Line2D([], [], label=f"{words} ({plot.seeds(runs)})", **look)
            if end == protocol or protocol not in ends:
                dot = {
                    "color": plot.PROTOCOLS[protocol],
                    "markersize": 4,
                    "markeredgecolor": "white",
                }
                for x, y in published(experiment.findings, f"{title}, {protocol.upper()}"):
                    axes.plot(x, y, "o", **dot)
                    reported = True
        axes.set_ylim(0, 1.02)
        axes.set_title(title, loc="left")
        plot.logarithmic(axes, "x")
    return finish(drawing, grid, len(shown), drawn, reported)
