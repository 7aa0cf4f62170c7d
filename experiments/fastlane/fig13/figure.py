"""FCT of pFabric, with FastLane and without, by the memory of a port."""

from trimline import plot

SCHEMES = {"fl": "pFabric with FastLane", "pfabric": "pFabric"}


def figure(experiment):
    return plot.load(__file__, "fastlane/fig12").by_memory(experiment, SCHEMES, 64)
