"""FCT of TCP with FastLane over that of TCP, by the share of short flows."""

from trimline import plot

LIKE = plot.load(__file__, "fastlane/fig06")
XLABEL, SHARES = "Short flows (% of the load)", (10, 30, 50)


def figure(experiment):
    title = "TCP with FastLane over TCP, 60 % utilisation"
    return LIKE.by_place(experiment, LIKE.SCHEMES, "tcp", XLABEL, SHARES, title)
