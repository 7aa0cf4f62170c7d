"""Sequence of data and ACKs of one flow over five milliseconds."""

import polars

from trimline import plot


def figure(experiment):
    title = "One flow of about 1 Gb/s over a link of 10 Gb/s"
    figure, axes = plot.panels(size=(6.4, 4.6), title=title)
    run = experiment.runs[0]
    sent = run.timeline.filter(event="depart")
    data, acks = sent.filter(place="host 0", packet="data"), sent.filter(place="host 1")
    if not len(data) or not len(acks):
        raise plot.MalformedResult(f"{run.folder}: no data or no ACKs in the timeline")
    begin, first = data["time_ps"][0], data["sequence"][0]
    ms = (polars.col("time_ps") - begin) / 1e9
    kb = (polars.col("sequence") - first) * run.host_link.payload_bytes / 1e3
    times, kilobytes = data.select(ms, kb)
    axes.plot([0, times[-1]], [0, times[-1] * 125], color=plot.GREY, linestyle=":", label="1 Gb/s")
    look = {"color": plot.BLUE, "linestyle": "none", "marker": ".", "markersize": 3}
    axes.plot(times, kilobytes, label="data", **look)
    look = {"color": plot.VERMILION, "linestyle": "none", "marker": "+"}
    axes.plot(*acks.select(ms, kb), label="ACKs", **look)
    plot.label(axes, "Time (ms)", "Sequence (KB)", xlim=(0, 5), ylim=(0, None))
    return figure
