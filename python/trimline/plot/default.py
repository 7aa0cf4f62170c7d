"""The figure of an experiment without one of its own: chosen by what its runs hold.

- Runs of a sweep: a panel for each number that the findings ask for, over the swept key.
- A few groups of runs with many flows: completion times, slowdowns and goodputs as distributions.
- Otherwise bars: a panel for each number, a bar a group.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from trimline.comparison import bytes_name
from trimline.files import MalformedResult
from trimline.looks import BLUE, colours_of, label_of
from trimline.means import Measure
from trimline.plot import comparison
from trimline.plot.experiment import Experiment, Run
from trimline.plot.plots import bars, legend_below, line_with_intervals, panels
from trimline.results import Results

#: Panels of a figure, lines of a panel, and bars of a panel: more would hide each other.
MAX_PANELS, MAX_LINES, MAX_BARS = 6, 8, 40

#: Fewer flows have no distribution.
MIN_FLOWS = 10


def figure(experiment: Experiment) -> Figure:
    """Draws an experiment by what its runs hold."""
    if key := swept_key(experiment.runs):
        return over_key(experiment, key)
    groups = {run.group for run in experiment.runs}
    is_large = any(len(run.flows) >= MIN_FLOWS for run in experiment.runs)
    if not measures_of(experiment.runs) or (is_large and len(groups) <= MAX_LINES):
        return comparison.draw(Results(experiment.folder, experiment.runs))
    return as_bars(experiment)


def swept_key(runs: Sequence[Run]) -> str:
    """The key with the most numbers in the sweep; empty without one."""
    found: dict[str, set[float]] = {}
    for run in runs:
        for key in run.point:
            try:
                found.setdefault(key, set()).add(run.place(key))
            except MalformedResult:
                found.setdefault(key, set())
    largest = max(found, key=lambda key: len(found[key]), default="")
    return largest if largest and len(found[largest]) > 1 else ""


def measures_of(runs: Sequence[Run]) -> dict[str, str]:
    """The numbers that findings ask of runs, and each in words."""
    found: dict[str, str] = {}
    for run in runs:
        if (run.folder / "measures.json").is_file():
            found |= {json.dumps(measure): in_words(measure) for measure, _ in run.answers}
    return dict(list(found.items())[:MAX_PANELS])


def value_of(run: Run, measure: str) -> float | None:
    """A run's value of a measure, if it was asked for."""
    return {json.dumps(each): value for each, value in run.answers}.get(measure)


def in_words(measure: dict[str, Any]) -> str:
    """A measure as the label of an axis."""
    words = [str(measure["quantity"]).replace("_", " "), str(measure.get("reduce", ""))]
    words.append(str(measure.get("workload", "")))
    sizes = measure.get("size_bytes") or {}
    words += [f"{end} {bytes_name(size)}" for end, size in sizes.items() if size is not None]
    unit = str(measure.get("unit", "")).replace("us", "µs")
    return " ".join(filter(None, words)) + (f"\n({unit})" if unit else "")


def grid(count: int, title: str) -> tuple[Figure, list[Any]]:
    """As many panels, up to three in a row."""
    columns = min(count, 3)
    rows = -(-count // columns)
    size = (1.2 + 3.6 * columns, 0.9 + 3.0 * rows)
    drawn, axes = panels(rows, columns, size, title, squeeze=False)
    for more in axes.flat[count:]:
        more.set_visible(False)
    return drawn, list(axes.flat)


def over_key(experiment: Experiment, key: str) -> Figure:
    """The numbers over a swept key, with their intervals; a line for what else is the same."""
    lines: dict[str, dict[float, list[Run]]] = {}
    for run in experiment.runs:
        if key in run.point:
            rest = {name: value for name, value in run.point.items() if name != key}
            same = replace(run, point=rest).group
            lines.setdefault(same, {}).setdefault(run.place(key), []).append(run)
    measures = measures_of(experiment.runs)
    if not measures:
        raise MalformedResult(f"{experiment.folder}: no measures.json with a number")
    drawn, axes = grid(len(measures), experiment.identifier)
    shown = list(lines)[:MAX_LINES]
    colours = colours_of(shown)
    for each, (measure, words) in zip(axes, measures.items(), strict=False):
        for name in shown:
            places = dict(sorted(lines[name].items()))
            line_with_intervals(
                each,
                places,
                lambda run, measure=measure: value_of(run, measure),  # type: ignore[misc]
                color=colours[name],
                marker=".",
                label=label_of(name),
            )
        each.set(xlabel=key, ylabel=words)
    legend_below(drawn, axes[0], 4)
    return drawn


def as_bars(experiment: Experiment) -> Figure:
    """The numbers of every group of runs, means over seeds."""
    groups: dict[str, list[Run]] = {}
    for run in experiment.runs:
        groups.setdefault(run.group, []).append(run)
    measures = measures_of(experiment.runs)
    drawn, axes = grid(len(measures), experiment.identifier)
    for each, (measure, words) in zip(axes, measures.items(), strict=False):
        found = {
            name: Measure.of([value_of(run, measure) for run in runs])
            for name, runs in groups.items()
        }
        known = {name: one.mean for name, one in found.items() if one is not None}
        shown = list(known)[:MAX_BARS]
        names = [label_of(name) for name in shown]
        bars(each, names, [("", [known[name] for name in shown], BLUE)], width=0.7)
        each.tick_params(axis="x", labelrotation=90, labelsize=6)
        each.set_ylabel(words)
    return drawn
