"""Figures from the files that `trimline reproduce` leaves behind.

A figure reads flows.csv, summary.json and manifest.json of every run, findings.json of the
experiment, and the authors' published numbers. Simulated and published values are separate series,
always. A run without a manifest is not drawn. The same input gives the same bytes, as PNG and PDF.
"""

from trimline.files import MalformedResult
from trimline.plot.figures import FIGURES, draw
from trimline.plot.results import Experiment

__all__ = ["FIGURES", "Experiment", "MalformedResult", "draw"]
