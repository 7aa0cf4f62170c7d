"""Heat maps of a switch: how often each length was seen at each port."""

import numpy
import polars

from trimline import plot

SERIES = {"baseline": "baseline", "opf": "with OPF"}
#: The longest queue that is shown, in packets.
MAX = 64


def figure(experiment):
    shown = {name: words for name, words in SERIES.items() if name in experiment.series}
    title = "How long the queues of spine 0 are, with UDP bursts to leaf 0"
    size = (4.8 * len(shown), 4.2)
    figure, grid = plot.panels(1, len(shown), size, title, squeeze=False)
    for axes, (name, words) in zip(grid[0], shown.items(), strict=True):
        share = numpy.log10(numpy.maximum(shares(experiment[name][0]), 1e-3))
        image = plot.heat(axes, share, cmap="magma")
        axes.set(xlabel="Port of the switch", title=words)
    grid[0][0].set_ylabel("Packets in its queue")
    bar = figure.colorbar(image, ax=grid, ticks=[-3, -2, -1, 0, 1, 2])
    bar.set_label("Share of samples (%)")
    bar.set_ticklabels(["< 0.001", "0.01", "0.1", "1", "10", "100"])
    return figure


def shares(run):
    """Returns the percent of samples by length and port."""
    packet = run.host_link.payload_bytes + run.host_link.header_bytes
    seen = run.port_series.select(
        (polars.col("queue_bytes") / packet)
        .round(mode="half_to_even")
        .clip(0, MAX)
        .cast(polars.Int64)
        .alias("length"),
        polars.col("name").str.split(" ").list.last().cast(polars.Int64).alias("port"),
    )
    grid = numpy.zeros((MAX + 1, 1 + seen["port"].max()))
    numpy.add.at(grid, (seen["length"].to_numpy(), seen["port"].to_numpy()), 1)
    return 100 * grid / grid.sum(axis=0)
