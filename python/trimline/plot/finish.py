"""What every figure gets before it is written: no empty panel, and one legend outside of the data.

A figure.py draws panels and labels what it draws; some panels may have no runs in a small tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend

#: Width of a figure with the fewest panels, in inches, and columns of a legend.
MIN_WIDTH, MAX_COLUMNS = 6.0, 6

#: What bands, bars and boxes are: last in a legend.
SEEDS, INTERVAL, ACCEPTED = "range of the seeds", "95 % interval over seeds", "accepted range"
NOTES = (SEEDS, INTERVAL, ACCEPTED)


def finish(figure: Figure) -> bool:
    """Removes empty panels and puts the legend below; returns False if no panel has data."""
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    full = [axes for axes in panels if has_data(axes)]
    if full and len(full) < len(panels):
        remove(figure, [axes for axes in panels if axes not in full], full)
    legend(figure)
    return bool(full)


def has_data(axes: Axes) -> bool:
    """Returns whether something is drawn at places of the axes; lines across them do not count."""
    if not axes.get_visible():
        return False
    # A patch adds its own shape to the transform of the data.
    shapes = [each for each in axes.patches if Artist.get_transform(each) is axes.transData]
    areas = [
        each for each in axes.collections if each.get_paths() or numpy.size(each.get_offsets())
    ]
    lines = [
        line
        for line in axes.lines
        if line.get_transform() is axes.transData
        and numpy.isfinite(numpy.asarray(line.get_ydata(), dtype=float)).any()
    ]
    return bool(shapes or areas or lines or axes.images)


def remove(figure: Figure, empty: Sequence[Axes], full: Sequence[Axes]) -> None:
    """Removes panels, and the rows and columns of the grid that have no other."""
    old: Any = full[0].get_gridspec()
    lost = [(spec_of(axes), axes.get_xlabel(), axes.get_ylabel()) for axes in empty]
    for axes in empty:
        axes.remove()
    rows = sorted({row for axes in full for row in spec_of(axes).rowspan})
    columns = sorted({column for axes in full for column in spec_of(axes).colspan})
    new = GridSpec(
        len(rows),
        len(columns),
        figure,
        width_ratios=[old.get_width_ratios()[each] for each in columns],
        height_ratios=[old.get_height_ratios()[each] for each in rows],
    )
    # A panel at the edge now has the words and numbers that a removed one had for its neighbours.
    for axes in full:
        spec = spec_of(axes)
        below = [x for each, x, _ in lost if each.colspan.start == spec.colspan.start]
        beside = [y for each, _, y in lost if each.rowspan.start == spec.rowspan.start]
        if below and spec.rowspan.stop > max(rows):
            axes.set_xlabel(axes.get_xlabel() or below[-1])
            axes.tick_params(labelbottom=True)
        if beside and spec.colspan.start == columns[0]:
            axes.set_ylabel(axes.get_ylabel() or beside[0])
            axes.tick_params(labelleft=True)
        down, right = rows.index(spec.rowspan.start), columns.index(spec.colspan.start)
        axes.set_subplotspec(
            new[down : down + len(spec.rowspan), right : right + len(spec.colspan)]
        )
    width, height = figure.get_size_inches()
    width *= len(columns) / old.ncols
    figure.set_size_inches(max(width, MIN_WIDTH), max(height * len(rows) / old.nrows, 3.8))


def spec_of(axes: Axes) -> Any:
    """Returns the place of a panel in its grid."""
    return axes.get_subplotspec()


def legend(figure: Figure) -> None:
    """Puts the names of all that is drawn below the figure, each once, in as few rows as fit."""
    found: dict[str, Any] = {}
    if figure.legends:
        return
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    names = sorted(found, key=lambda name: name in NOTES)
    if not names:
        return
    for columns in range(min(len(names), MAX_COLUMNS), 0, -1):
        # As few columns as give the same number of rows.
        even = -(-len(names) // -(-len(names) // columns))
        handles = [found[name] for name in names]
        drawn = figure.legend(handles, names, loc="outside lower center", ncols=even)
        if columns == 1 or is_narrow(drawn, figure):
            return
        drawn.remove()


def is_narrow(drawn: Legend, figure: Figure) -> bool:
    """Returns whether a legend is no wider than its figure."""
    return drawn.get_window_extent().width < 0.96 * figure.bbox.width
