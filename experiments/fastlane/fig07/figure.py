"""FCT of pFabric with FastLane over that of pFabric, by utilisation."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
SCHEMES = {"fl": ("pFabric with FastLane", plot.PURPLE)}


def figure(experiment):
    title = "pFabric with FastLane over pFabric, a tenth of the load short"
    return LIKE.by_place(experiment, SCHEMES, "pfabric", "Utilisation (%)", LIKE.LOADS, title)
