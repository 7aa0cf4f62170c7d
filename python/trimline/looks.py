"""The colour and the name of every series, wherever it is drawn.

The colours are by Okabe and Ito; colour-blind readers can tell them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
GREY = "#767676"

#: Colours of things that have none of their own, in turn.
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)

#: The transports that the simulator has: `trimline transports --json` says the same.
TRANSPORTS: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "plot" / "transports.json").read_text(encoding="utf-8")
)

#: Schemes that are more than a transport.
SCHEMES = {
    "hull": {"label": "HULL", "colour": "#117733"},
    "opf": {"label": "NDP with OPF", "colour": "#332288"},
    "homa-aeolus": {"label": "Homa with Aeolus", "colour": "#44AA99"},
    "fastlane": {"label": "TCP with FastLane", "colour": "#888888"},
    "pfabric-fastlane": {"label": "pFabric with FastLane", "colour": "#DD88AA"},
    "uec": {"label": "NSCC over UET's switches", "colour": "#661100"},
    "rccc": {"label": "RCCC over UET's switches", "colour": "#6699CC"},
}

#: A protocol has one colour, in every figure and from every source.
PROTOCOLS = {name: known["colour"] for name, known in (SCHEMES | TRANSPORTS).items()}

#: How a protocol is written.
NAMES = {name: known["label"] for name, known in (SCHEMES | TRANSPORTS).items()}

#: Colours of groups that no protocol has.
UNKNOWN = ("#661100", "#6699CC", "#AA4499", "#888800")


def protocol_of(series: str) -> str:
    """The scheme or protocol that a series is named after: itself, or the first known one in it."""
    words = series.lower().replace("_", "-").split("-")
    return next((word for word in (series, *words) if word in PROTOCOLS), "")


def parts_of(group: str) -> tuple[str, str, str]:
    """Origin with its colon, series and point of a group of runs: `origin: series key=value`.

    Each part is there or not. An origin is the name of a folder, which may hold spaces.
    """
    origin, colon, rest = group.partition(": ")
    if not colon:
        origin, rest = (group, "") if group.endswith(":") else ("", group)
    series, _, point = rest.partition(" ")
    if "=" in series:
        series, point = "", rest
    return (f"{origin}{colon.strip()}", series, point)


def colours_of(groups: Iterable[str]) -> dict[str, str]:
    """A colour for each group of a figure: a protocol has its own, and no two are alike.

    Of several groups of one protocol the first has its colour; the others take what is left.
    """
    names = list(dict.fromkeys(groups))
    found: dict[str, str] = {}
    for name in names:
        own = PROTOCOLS.get(protocol_of(parts_of(name)[1]))
        if own is not None and own not in found.values():
            found[name] = own
    # A protocol that is not here may be in the next figure: its colour comes last.
    spare = sorted(dict.fromkeys((*UNKNOWN, *PALETTE)), key=lambda each: each in PROTOCOLS.values())
    if not found:
        spare = [*PALETTE, *UNKNOWN]
    for place, name in enumerate(names):
        if name not in found:
            left = [colour for colour in spare if colour not in found.values()]
            found[name] = left[0] if left else PALETTE[place % len(PALETTE)]
    return {name: found[name] for name in names}


def label_of(group: str) -> str:
    """A group of runs as a reader wants it: with the names that the scenario gives."""
    return group or "scenario"
