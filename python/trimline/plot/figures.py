"""The figure of an experiment: by its own figure.py, or a plot that any results can have.

figure.py has a function `figure(experiment)`, which gives one figure, or several by what their
files' names end with.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import matplotlib
from matplotlib.figure import Figure

from trimline.plot import default, style
from trimline.plot.experiment import Experiment
from trimline.plot.finish import finish

#: What figure.py draws.
Drawn = Figure | Mapping[str, Figure]

#: Experiments as the command finds them, then those of the package; in a clone these are a link.
LIBRARIES = ("experiments", Path(__file__).parents[1] / "assets/experiments")

#: What a figure says of the runs that it is drawn from; nothing where they are all.
TIERS = {"quick": "quick tier", "part": "some of the series"}


def draw(experiment: Experiment, folder: Path, library: Path | None = None) -> list[Path]:
    """Draws the figures of an experiment; returns the files written.

    `library` is the folder of the experiments with their figure.py.
    """
    with matplotlib.rc_context(style.SETTINGS):
        drawn = figure_of(experiment.identifier, library)(experiment)
        figures = {"": drawn} if isinstance(drawn, Figure) else dict(drawn)
        written = []
        for ending, figure in figures.items():
            shown = figure if finish(figure) else instead(experiment)
            if words := TIERS.get(experiment.tier):
                style.note(shown, words)
            name = experiment.identifier.replace("/", "-") + ending
            written += style.write(shown, folder, name)
        return written


def instead(experiment: Experiment) -> Figure:
    """Returns the default figure where none of the series that figure.py draws was run."""
    figure = default.figure(experiment)
    finish(figure)
    return figure


def figure_of(identifier: str, library: Path | None = None) -> Callable[[Experiment], Drawn]:
    """Returns the function that draws an experiment."""
    given = library or os.environ.get("TRIMLINE_EXPERIMENTS")
    for each in map(Path, [given] if given else LIBRARIES):
        path = each / identifier / "figure.py"
        if path.is_file():
            found: Callable[[Experiment], Drawn] = load(path, identifier).figure
            return found
    return default.figure


def load(file: str | Path, identifier: str) -> ModuleType:
    """Loads another experiment's figure.py as a module, for a figure that is like it.

    `file` is the figure.py that asks.
    """
    path = Path(file).resolve().parents[2] / identifier / "figure.py"
    name = str(path)
    if name not in sys.modules:
        # Python's own loader would leave bytecode beside the experiment.
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = name
        exec(compile(path.read_text(encoding="utf-8"), name, "exec"), module.__dict__)
    return sys.modules[name]
