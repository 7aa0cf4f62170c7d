"""FCT of pFabric with FastLane over that of pFabric, by the share of short flows."""

from trimline import plot

PFABRIC, SHARE = plot.load(__file__, "fastlane/fig07"), plot.load(__file__, "fastlane/fig08")


def figure(experiment):
    title = "pFabric with FastLane over pFabric, 60 % utilisation"
    words = (SHARE.XLABEL, SHARE.SHARES, title)
    return SHARE.LIKE.by_place(experiment, PFABRIC.SCHEMES, "pfabric", *words)
