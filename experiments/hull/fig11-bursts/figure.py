"""Figure 11 with bursty servers: latency and large files, with pacers and without."""

from trimline import plot

LIKE = plot.load(__file__, "hull/table4")


def figure(experiment):
    title = "Files of 1 KB and 10 MB from bursty servers over 1 Gb/s"
    figure, row = plot.panels(1, 2, (9.2, 4.2), title)
    LIKE.draw_pacing(experiment, *row)
    for axes in row:
        axes.set(xlabel="Load (%)", xticks=LIKE.LOADS)
    return figure
