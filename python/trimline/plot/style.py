"""How figures look, and how they are written: the same bytes for the same input.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; line styles and
markers tell simulated from published, so that a grey print still shows it.
"""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

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
    Path(__file__).with_name("transports.json").read_text(encoding="utf-8")
)

#: Protocols that only published results show.
PUBLISHED = {
    "dcqcn": {"label": "DCQCN", "colour": PURPLE},
    "phost": {"label": "pHost", "colour": ORANGE},
    "homa": {"label": "Homa", "colour": SKY},
}

#: A protocol has one colour, in every figure and from every source.
PROTOCOLS = {name: known["colour"] for name, known in (PUBLISHED | TRANSPORTS).items()}

#: How a protocol is written.
NAMES = {name: known["label"] for name, known in (PUBLISHED | TRANSPORTS).items()}

#: Colours of series whose protocol nobody here knows, by their name.
UNKNOWN = ("#882255", "#44AA99", "#999933", "#AA4499", "#332288")

SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.figsize": (6.0, 3.8),
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}


def protocol_of(series: str) -> str:
    """The protocol that a series is named after: the first known one in it."""
    words = series.lower().replace("_", "-").split("-")
    return next((word for word in words if word in PROTOCOLS), "")


#: Colours of series that are named after a switch profile, not after a protocol.
PROFILES = {"paper": BLUE, "htsim": ORANGE, "csg-htsim": PURPLE}

#: Colours of series that are not their protocol's only ones in a figure.
OWN = {"dctcp-shared": "#7A3E00"}


def colour_of(series: str) -> str:
    """The colour of the protocol of a series, or of its profile; else one that its name chooses."""
    known = OWN.get(series) or PROTOCOLS.get(protocol_of(series)) or PROFILES.get(series)
    return known or UNKNOWN[crc32(series.encode()) % len(UNKNOWN)]


def line_of(series: str) -> str:
    """A second run of a protocol with larger queues has the same colour, dash-dotted."""
    return "-." if series.endswith("-200") else "-"


def name_of(series: str) -> str:
    """The series as a reader wants it: `ndp-iw23` becomes `NDP iw23`, `htsim` a profile of NDP.

    A series that names neither a known protocol nor a profile keeps its own name.
    """
    if series in PROFILES:
        return f"NDP, profile {series}"
    if not protocol_of(series):
        return series
    protocol, _, packets = series.partition("-")
    if protocol in ("dctcp", "mptcp") and packets.isdigit():
        return f"{NAMES[protocol]}, queues of {packets}"
    if series == "dctcp-shared":
        return "DCTCP, shared buffers"
    words = series.replace("_", "-").split("-")
    return " ".join(NAMES.get(word.lower(), word) for word in words)


def note(figure: Figure, words: str) -> None:
    """Small words in the lower left corner of a figure, where no label is."""
    figure.text(0.005, 0.006, words, ha="left", va="bottom", fontsize=6, color=GREY)


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Writes PNG and PDF without a time, a program or a version in them."""
    folder.mkdir(parents=True, exist_ok=True)
    png, pdf = folder / f"{stem}.png", folder / f"{stem}.pdf"
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(pdf, metadata={"Creator": None, "Producer": None, "CreationDate": None})
    pyplot.close(figure)
    return [png, pdf]
