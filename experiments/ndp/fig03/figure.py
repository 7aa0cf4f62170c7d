"""One packet trimmed at a full queue: its header, NACK, retransmission; the link's packets."""

from trimline import plot

SERIES = {"one-switch": "Around one switch", "between-pods": "As far as between pods"}
#: Lanes of a timeline, from what the link carries up to the source.
LINK, DESTINATION, SWITCH, SOURCE = range(4)
#: The port to the destination.
PORT = "tor 0 down 0"
#: Words beside a place, in points.
SMALL = {"textcoords": "offset points", "fontsize": 7}


def figure(experiment):
    title = "Nine packets meet at a queue of eight; one is trimmed (simulated)"
    figure, grid = plot.panels(4, 1, (6.8, 7.6), title, height_ratios=(2.2, 1, 2.2, 1))
    for number, (series, words) in enumerate(SERIES.items()):
        run = experiment[series][0]
        events = run.timeline.to_dicts()
        above, below = grid[2 * number : 2 * number + 2]
        draw_packets(above, run, events)
        draw_queue(below, [each for each in events if each["place"] == PORT])
        end = us(events[-1])
        for axes in (above, below):
            axes.set_xlim(-1, end + 1)
        above.set_title(words, fontsize=9)
        above.tick_params(labelbottom=False)
        below.set_xlabel("Time (µs)")
    return figure


def us(event, column="time_ps"):
    return event[column] / 1e6


def draw_packets(axes, run, events):
    """Draws the way of the packet that is trimmed, and what the link to the destination carries."""
    trimmed = [each for each in events if (each["event"], each["place"]) == ("trim", PORT)]
    if len(trimmed) != 1:
        raise plot.MalformedResult(f"{run.folder}: {len(trimmed)} packets were trimmed, not one")
    trim, source = trimmed[0], trimmed[0]["source"]
    sender, receiver = f"host {source}", f"host {trim['destination']}"

    def one(event, packet, place, attempt=0):
        """Returns the event of the trimmed packet's flow that is this one."""
        keys = ("event", "packet", "place", "attempt", "source")
        for each in events:
            if tuple(each[key] for key in keys) == (event, packet, place, attempt, source):
                return each
        raise plot.MalformedResult(
            f"{run.folder}: no {event} of a {packet} at {place} in the timeline"
        )

    for each in events:
        if (each["event"], each["place"]) == ("depart", PORT):
            begin, length = us(each), us(each, "until_ps") - us(each)
            colour = plot.VERMILION if each["source"] == source else plot.SKY
            lane = (LINK - 0.3, 0.6)
            look = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8}
            axes.broken_barh([(begin, length)], lane, **look)
            if each["packet"] == "data":
                middle = begin + length / 2
                axes.text(middle, LINK, each["source"], ha="center", va="center", fontsize=7)
    arrival = us(one("arrive", "data", receiver, 1))
    axes.plot(arrival, DESTINATION, marker="v", color=plot.VERMILION, markersize=6)
    axes.annotate("arrives", (arrival, DESTINATION), xytext=(0, 6), ha="center", **SMALL)
    data, again = one("depart", "data", sender), one("depart", "data", sender, 1)
    header, nack = one("depart", "header", PORT), one("depart", "nack", receiver)
    # Words stand at a share of the way, and left of arrows that go steeply: nothing else is there.
    steps = (
        ("", data, SOURCE, trim, SWITCH, plot.VERMILION, 0.5),
        ("header", header, SWITCH, one("arrive", "header", receiver), DESTINATION, plot.BLACK, 0.3),
        (
            "NACK with PULL",
            nack,
            DESTINATION,
            one("arrive", "nack", sender),
            SOURCE,
            plot.GREEN,
            0.75,
        ),
        (
            "retransmission",
            again,
            SOURCE,
            one("enqueue", "data", PORT, 1),
            SWITCH,
            plot.VERMILION,
            0.5,
        ),
    )
    for words, leaves, lower, comes, upper, colour, share in steps:
        begin, end = us(leaves), us(comes)
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (end, upper), (begin, lower), arrowprops=arrow)
        at = (begin + share * (end - begin), lower + share * (upper - lower))
        is_steep = words != "retransmission"
        beside = (
            {"xytext": (-4, 0), "ha": "right"} if is_steep else {"xytext": (8, 4), "ha": "left"}
        )
        axes.annotate(words, at, color=colour, va="center", **beside, **SMALL)
    axes.plot(us(trim), SWITCH, marker="x", color=plot.BLACK, markersize=7)
    axes.annotate("trimmed", (us(trim), SWITCH), xytext=(6, 5), **SMALL)
    lanes = ["link to it", "destination", "switch", f"source {source}"]
    axes.set_yticks([LINK, DESTINATION, SWITCH, SOURCE], lanes)
    axes.set_ylim(LINK - 0.4, SOURCE + 0.3)
    axes.grid(axis="y", visible=False)


def draw_queue(axes, events):
    """Draws the packets in the data queue of the port, the one on the wire included."""
    data = [each for each in events if each["packet"] == "data"]
    times, lengths = [us(each) for each in data], [each["queue_packets"] for each in data]
    last = [us(each, "until_ps") for each in data if each["event"] == "depart"][-1]
    axes.step([times[0], *times, last], [0, *lengths, 0], where="post", color=plot.BLUE)
    again = next(each for each in data if (each["event"], each["attempt"]) == ("enqueue", 1))
    at, found = (us(again), again["queue_packets"]), again["queue_packets"] - 1
    axes.plot(*at, color=plot.VERMILION, marker="o", markersize=4, linestyle="none")
    words = f"the retransmission finds {found}"
    axes.annotate(words, at, xytext=(5, 5), color=plot.VERMILION, **SMALL)
    axes.set(ylabel="Data queue\n(packets)", ylim=(0, 9.5), yticks=(0, 4, 8))
