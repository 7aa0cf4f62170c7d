"""The look of figures, and their files: the same bytes for the same input.

Line styles and markers tell simulated from published, so that a grey print still shows it. Colours
and names are from `trimline.looks`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trimline.looks import GREY

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


class Drawing(Figure):
    """A figure that notebooks show, whatever backend pyplot has: pyplot does not know it."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """As matplotlib's figure."""
        super().__init__(*arguments, **more)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """The picture of a notebook."""
        made = io.BytesIO()
        self.savefig(made, format="png")
        return made.getvalue()


def note(figure: Figure, words: str) -> None:
    """Small words upwards at the right edge of a figure, where no panel and no legend is."""
    engine: Any = figure.get_layout_engine()
    if engine:
        engine.set(rect=(0, 0, 1 - 0.13 / figure.get_figwidth(), 1))
    look: Any = {"ha": "right", "va": "bottom", "fontsize": 6, "color": GREY}
    figure.text(0.998, 0.01, words, rotation="vertical", **look)


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Writes PNG and PDF without a time, a program or a version in them."""
    folder.mkdir(parents=True, exist_ok=True)
    if engine := figure.get_layout_engine():
        # Once for both: savefig would draw everything for it, and again for the file.
        figure.set_dpi(matplotlib.rcParams["savefig.dpi"])
        engine.execute(figure)
        figure.set_layout_engine(None)
    png, pdf = folder / f"{stem}.png", folder / f"{stem}.pdf"
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(pdf, metadata={"Creator": None, "Producer": None, "CreationDate": None})
    return [png, pdf]
