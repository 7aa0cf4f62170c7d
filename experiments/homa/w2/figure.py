"""Slowdown of Homa by size of message at two loads."""

from trimline import plot

figure = plot.load(__file__, "homa/w1").figure
