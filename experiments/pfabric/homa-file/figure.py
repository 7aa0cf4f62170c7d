"""Slowdown of pFabric on Homa's network by size of message, a panel a workload."""

from trimline import plot


def figure(experiment):
    like = plot.load(__file__, "homa/w1")
    return like.by_workload(experiment, ("w1", "w2", "w5"), "pFabric on Homa's network")
