"""Ways, NACKs, trims and queues of NDP with and without OPF, over the size of a burst."""

from statistics import fmean

from trimline import plot

SERIES = {"ndp": "ndp", "ndp-opf": "opf"}
#: Layers that lead down into a pod: words, line.
LAYERS = {
    "core down": ("core", ":"),
    "aggregation down": ("aggregation", "--"),
    "tor down": ("ToR", "-"),
}


def figure(experiment):
    title = "Bursts of 100 KB from the other pods into one pod"
    figure, grid = plot.panels(2, 3, (12.0, 7.2), title)
    ((ways, nacks, trims), (data, headers, _)) = grid
    for name, protocol in SERIES.items():
        places, label = plot.by(experiment[name], "senders"), plot.NAMES[protocol]
        look = {"color": plot.PROTOCOLS[protocol], "marker": "."}
        plot.line(ways, places, lambda run: run.number("paths", "mean_links"), label=label, **look)
        plot.line(nacks, places, lambda run: run.number("trims"), label=label, **look)
        for layer, (words, dashes) in LAYERS.items():
            own = look | {"linestyle": dashes, "label": f"{label}: {words}"}
            plot.line(data, places, lambda run, at=layer: queue_bytes(run, at)[0] / 1e3, **own)
            plot.line(headers, places, lambda run, at=layer: queue_bytes(run, at)[1], **own)
            plot.line(trims, places, lambda run, at=layer: trimmed(run, at), **own)
    titles = {
        ways: ("Links of a packet", "Figure 8(a): ways"),
        nacks: ("NACKs", "Figure 8(b): NACKs"),
        trims: ("Packets trimmed", "Figure 9(c): trims by layer"),
        data: ("Data in a queue (KB), mean", "Figure 9(a): data queues"),
        headers: ("Headers in a queue (B), mean", "Figure 9(b): header queues"),
    }
    for axes, words in titles.items():
        plot.label(axes, "Senders of a burst", *words)
    return figure


def queue_bytes(run, layer):
    """Returns the mean bytes of data and of headers in a queue of a layer of the pod."""
    samples = run.queues.filter(layer=f"pod 0 {layer}")
    if not len(samples):
        raise plot.MalformedResult(f"{run.folder}: series.csv has no samples of pod 0")
    data = fmean(samples["data_queue_bytes_mean"])
    return data, fmean(samples["queue_bytes_mean"] - samples["data_queue_bytes_mean"])


def trimmed(run, layer):
    return run.ports.filter(layer=layer)["trimmed"].sum()
