"""The figure of an experiment without figure.py: chosen by what its runs hold.

- Runs of a sweep: a panel for each number that the findings ask for, over the swept key.
- A few groups of runs with many flows: completion times, slowdowns and goodputs as distributions.
- Otherwise bars: a panel for each number, a bar a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trimline.comparison import bytes_name
from trimline.files import MalformedResult
from trimline.looks import BLUE, colours_of, label_of
from trimline.means import Measure
from trimline.plot import comparison
from trimline.plot.experiment import Experiment, Run
from trimline.plot.plots import by, line_with_intervals, panels
from trimline.results import Results

#: Panels of a figure, lines of a panel, and bars of a panel: more would hide each other.
MAX_PANELS, MAX_LINES, MAX_BARS = 6, 8, 40

#: Fewer flows have no distribution.
MIN_FLOWS = 10

#: Units of quantities whose measures do not name one.
UNITS = {"incast_overhead": "%"}

#: Runs by their group.
Groups = Mapping[str, list[Run]]


def figure(experiment: Experiment) -> Figure:
    """Draws an experiment by what its runs hold."""
    key = swept_key(experiment.runs)
    groups = grouped(experiment.runs, key)
    names = list(dict.fromkeys(name for run in experiment.runs for name in numbers(run)))
    is_large = any(len(run.flows) >= MIN_FLOWS for run in experiment.runs)
    if not names or (not key and is_large and len(groups) <= MAX_LINES):
        return comparison.draw(Results(experiment.folder, experiment.runs))
    shown = names[:MAX_PANELS]
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    size = (1.2 + 3.6 * columns, 0.9 + 3.0 * rows)
    drawn, grid = panels(rows, columns, size, experiment.identifier, squeeze=False)
    for axes, name in zip(grid.flat, shown, strict=False):
        over_key(axes, groups, key, name) if key else as_bars(axes, groups, name)
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    return drawn


def swept_key(runs: Iterable[Run]) -> str:
    """Returns the key with the most numbers in the sweep; empty if no key has two."""
    found: dict[str, set[float]] = {}
    for run in runs:
        for key in run.point:
            try:
                found.setdefault(key, set()).add(run.place(key))
            except MalformedResult:
                continue
    key = max(found, key=lambda key: len(found[key]), default="")
    return key if key and len(found[key]) > 1 else ""


def grouped(runs: Iterable[Run], key: str) -> Groups:
    """Groups runs by series and point of the sweep, without the swept key."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if not key or key in run.point:
            rest = {name: value for name, value in run.point.items() if name != key}
            found.setdefault(replace(run, point=rest).group, []).append(run)
    return found


def numbers(run: Run) -> dict[str, float]:
    """Returns the numbers that findings ask of a run, by their words."""
    is_asked = (run.folder / "measures.json").is_file()
    return {in_words(measure): value for measure, value in run.answers} if is_asked else {}


def in_words(measure: Mapping[str, Any]) -> str:
    """Returns a measure as the label of an axis."""
    words = [str(measure.get(key, "")) for key in ("quantity", "reduce", "workload")]
    sizes = measure.get("size_bytes") or {}
    words += [f"{end} {bytes_name(size)}" for end, size in sizes.items() if size is not None]
    unit = str(measure.get("unit") or UNITS.get(words[0], "")).replace("us", "µs")
    text = " ".join(filter(None, words)).replace("_", " ")
    return text.replace("fct", "FCT").replace("incast", "Incast") + (f" ({unit})" if unit else "")


def over_key(axes: Axes, groups: Groups, key: str, name: str) -> None:
    """Draws a number over a swept key with its intervals, a line a group."""
    shown = list(groups)[:MAX_LINES]
    colours = colours_of(shown)
    for group in shown:
        look = {"color": colours[group], "marker": ".", "label": label_of(group)}
        look["linestyle"] = comparison.LINES[shown.index(group) % len(comparison.LINES)]
        places = by(groups[group], key)
        line_with_intervals(axes, places, lambda run: numbers(run).get(name), **look)
    axes.set(xlabel=key.replace("_", " "), ylabel=name)


def as_bars(axes: Axes, groups: Groups, name: str) -> None:
    """Draws a number of every group that has it, the mean over seeds."""
    found = {
        group: Measure.of([numbers(run).get(name) for run in runs])
        for group, runs in groups.items()
    }
    means = {label_of(group): one.mean for group, one in found.items() if one is not None}
    shown = list(means)[:MAX_BARS]
    axes.barh(shown, [means[each] for each in shown], color=BLUE)
    axes.invert_yaxis()
    axes.set_xlabel(name)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", labelsize=8 if len(shown) <= 10 else 6)
