"""Figures from the files that `trimline reproduce` leaves behind.

A figure reads flows.csv, summary.json and manifest.json of every run, findings.json of the
experiment, and the authors' published numbers. Simulated and published values are separate series,
always. A run without a manifest is not drawn. The same input gives the same bytes, as PNG and PDF.

Here are the plots that any results can have; an experiment's figure.py calls them.
"""

from trimline.files import MalformedResult
from trimline.looks import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    NAMES,
    ORANGE,
    PROTOCOLS,
    PURPLE,
    SKY,
    VERMILION,
)
from trimline.plot.experiment import Experiment, Finding, Run
from trimline.plot.figures import draw, figure_of, load
from trimline.plot.incast import Ideal
from trimline.plot.intervals import (
    MINUS,
    Change,
    above,
    beside,
    dot,
    doublings,
    ends,
    percent,
    rows_at,
    seeds_words,
    signed,
)
from trimline.plot.plots import (
    accepted,
    bars,
    by,
    by_rank,
    cdf,
    each,
    fct_cdf,
    heat,
    label,
    line,
    line_with_intervals,
    logarithmic,
    marked,
    marked_at,
    named_at_ends,
    panels,
    plain,
    published,
    rank,
    seeds,
    simulated,
    slowdowns,
)
