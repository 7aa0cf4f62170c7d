"""Datacenter networks, packet by packet: run scenarios, sweep, compare, read results as polars.

    import trimline

    results = trimline.run("examples/incast.toml")
    print(results.flows.group_by("series").agg(polars.col("fct_receiver_ps").median()))

A scenario is a file, a text in TOML or a dictionary with the same words. Runs give the same files,
to the byte, as the `trimline` command, which this package brings along.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimline._core import __version__
    from trimline.comparison import Comparison, compare
    from trimline.experiments import Reproduction, reproduce
    from trimline.files import MalformedResult
    from trimline.reporting import report
    from trimline.results import Result, Results
    from trimline.running import Interrupted, run
    from trimline.scenario import Scenario, ScenarioError
    from trimline.sweeping import SweepError, sweep

__all__ = [
    "Comparison",
    "Interrupted",
    "MalformedResult",
    "Reproduction",
    "Result",
    "Results",
    "Scenario",
    "ScenarioError",
    "SweepError",
    "__version__",
    "compare",
    "report",
    "reproduce",
    "run",
    "sweep",
]

#: Where each name is: figures are drawn from files alone, without the compiled module.
_PLACES = {
    "__version__": "_core",
    "Comparison": "comparison",
    "compare": "comparison",
    "Reproduction": "experiments",
    "reproduce": "experiments",
    "report": "reporting",
    "MalformedResult": "files",
    "Result": "results",
    "Results": "results",
    "Interrupted": "running",
    "run": "running",
    "Scenario": "scenario",
    "ScenarioError": "scenario",
    "SweepError": "sweeping",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> Any:
    """A public name, from its module when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module 'trimline' has no attribute {name!r}")
    return getattr(import_module(f"trimline.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
