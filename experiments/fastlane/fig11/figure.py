"""FCT of pFabric with FastLane by the scale of both caps."""

from trimline import plot


def figure(experiment):
    return plot.load(__file__, "fastlane/fig10").by_scale(experiment, "pFabric")
