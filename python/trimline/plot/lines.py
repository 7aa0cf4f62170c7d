"""Lines over a sweep, and words about seeds, as several figures use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from matplotlib.axes import Axes

from trimline.files import MalformedResult
from trimline.plot import style
from trimline.plot.results import Experiment, Run


def seeds(runs: Sequence[Run]) -> str:
    """The number of seeds of a mean, in words."""
    count = len({run.seed for run in runs})
    return "1 seed" if count == 1 else f"{count} seeds"


def of_series(experiment: Experiment, name: str) -> list[Run]:
    """The runs of a series that the figure cannot do without."""
    runs = experiment.series().get(name)
    if not runs:
        raise MalformedResult(f"{experiment.folder}: no series {name!r}")
    return runs


def place(run: Run, key: str) -> float:
    """A run's place in the sweep: the number that its value begins with (`8pkt`, `90KB`)."""
    label = run.point.get(key, "")
    digits = label.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
    try:
        return float(digits)
    except ValueError:
        raise MalformedResult(f"{run.folder}: no number at {key!r} of the sweep") from None


def over(
    runs: Sequence[Run], key: Callable[[Run], float], value: Callable[[Run], float]
) -> tuple[list[float], list[float]]:
    """A value by its place in the sweep, the mean over seeds: places ascending, values there."""
    found: dict[float, list[float]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(value(run))
    places = sorted(found)
    return places, [fmean(found[each]) for each in places]


def marked(axes: Axes, y: float, words: str, *, right: bool = False) -> None:
    """A dotted line across the figure at a value that the paper or the model names."""
    axes.axhline(y, color=style.GREY, linewidth=0.8, linestyle=":")
    axes.annotate(
        words,
        (0.99 if right else 0.01, y),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right" if right else "left",
        color=style.GREY,
        fontsize=7,
    )


def marked_at(axes: Axes, x: float, words: str, height: float = 0.02) -> None:
    """A dotted line upwards at a place that the paper names, words at a share of the height."""
    axes.axvline(x, color=style.GREY, linewidth=0.8, linestyle=":")
    axes.annotate(
        words,
        (x, height),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        color=style.GREY,
        fontsize=7,
    )


def direct(axes: Axes, ends: Sequence[tuple[float, float, str, str]], gap: float = 0.055) -> None:
    """Words at the right of the axes, each beside the end of its line, and none on another.

    An end is its place, its words and its colour; the limits and scales of the axes are set before.
    """
    share = axes.transData + axes.transAxes.inverted()
    heights = [(float(share.transform((x, y))[1]), text, colour) for x, y, text, colour in ends]
    # Upwards, each at least a gap above the one below; then down again from the top.
    heights.sort(key=lambda end: end[0])
    places: list[float] = []
    for height, _, _ in heights:
        places.append(max(height, places[-1] + gap) if places else height)
    largest = 1.0
    for number in reversed(range(len(places))):
        places[number] = min(places[number], largest)
        largest = places[number] - gap
    for (height, text, colour), at in zip(heights, places, strict=True):
        axes.annotate(
            text,
            (1.0, height),
            xycoords="axes fraction",
            xytext=(1.04, at),
            textcoords="axes fraction",
            va="center",
            fontsize=7,
            color=colour,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                # To the first letter: a line to the middle would cross other words.
                "relpos": (0.0, 0.5),
                "shrinkA": 0,
            },
        )
