"""Share of the fair rate by number of unresponsive senders, CP and NDP: mean, slowest tenth."""

from statistics import fmean

from trimline import plot

PROTOCOLS = (("ndp", "NDP", plot.BLUE), ("cp", "CP", plot.VERMILION))


def figure(experiment):
    runs = experiment["ndp-9000"]
    title = (
        f"Senders that do not slow down, one link of {runs[0].host_link.gbps:g} Gb/s "
        f"(simulated, {plot.seeds(runs)})"
    )
    figure, row = plot.panels(1, 2, (7.2, 3.6), title, sharey=True)
    for axes, payload in zip(row, (9000, 1500), strict=True):
        for protocol, name, colour in PROTOCOLS:
            places = plot.by(experiment[f"{protocol}-{payload}"], "senders")
            look = {"color": colour, "marker": "."}
            plot.line(axes, places, mean_share, label=f"{name}, mean", linestyle="-", **look)
            plot.line(
                axes, places, slow_share, label=f"{name}, slowest tenth", linestyle="--", **look
            )
        # Ten headers to one packet.
        link = experiment[f"ndp-{payload}"][0].host_link
        bound = 100 * link.payload_bytes / (link.payload_bytes + 11 * link.header_bytes)
        plot.marked(axes, bound, f"10 headers to a packet: {bound:.1f} %", right=True)
        words = ("Unresponsive senders at line rate", "", f"Packets of {payload} B")
        plot.label(axes, *words, ylim=(0, 105), xlim=(0, None))
    row[0].set_ylabel("Goodput (% of the fair share)")
    return figure


def mean_share(run):
    """Returns the mean goodput in percent of the fair share of the link."""
    return run.link_percent(sum(run.goodputs_gbps()))


def slow_share(run):
    """Returns the mean goodput of the slowest tenth, at least one flow, in the same percent."""
    goodputs = sorted(run.goodputs_gbps())
    return run.link_percent(fmean(goodputs[: -(-len(goodputs) // 10)]) * len(goodputs))
