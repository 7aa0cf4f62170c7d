"""Scenarios: files, TOML texts and dictionaries with the words of the TOML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from trimline import _core


class ScenarioError(ValueError):
    """A mistake in a scenario: file, line, what is wrong, what was expected."""


@dataclass(frozen=True)
class RunName:
    """One run of a scenario, before it begins."""

    place: int
    name: str
    series: str
    point: dict[str, str]
    seed: int


@dataclass(frozen=True)
class Scenario:
    """A scenario and what is laid over it; it can be sent to other processes.

    `file` is its name in errors; names of files in it are relative to the folder of `file`.
    """

    file: str
    text: str
    settings: tuple[str, ...] = ()
    default_name: str = field(default="scenario")
    is_file: bool = False

    @staticmethod
    def of(
        source: Scenario | str | Path | Mapping[str, Any],
        *,
        settings: Iterable[str] | Mapping[str, Any] = (),
        seeds: int | str | Sequence[int] | None = None,
    ) -> Scenario:
        """Reads what was given: a file's name, a TOML text (of more than one line), a dictionary.

        Settings are laid over every series: `KEY=VALUE` with a dotted key, or a dictionary of
        such keys.
        """
        more = as_settings(settings)
        if seeds is not None:
            more += (f"seeds={toml_value(seeds)}",)
        if isinstance(source, Scenario):
            read = source
        elif isinstance(source, Mapping):
            read = Scenario("scenario", tomli_w.dumps(plain(source)))
        elif isinstance(source, str) and "\n" in source:
            read = Scenario("scenario", source)
        else:
            path = Path(source)
            try:
                text = _core.scenario_of(path) or path.read_text(encoding="utf-8")
            except ValueError as error:
                raise ScenarioError(str(error)) from None
            read = Scenario(str(path), text, (), path.stem, is_file=True)
        made = replace(read, settings=read.settings + more)
        _ = made.checked
        return made

    @cached_property
    def checked(self) -> _core.Scenario:
        """The scenario as the simulator read it. All mistakes are found here."""
        try:
            return _core.Scenario(self.file, self.text, self.default_name, list(self.settings))
        except ValueError as error:
            raise ScenarioError(str(error)) from None

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the text again."""
        return {key: value for key, value in self.__dict__.items() if key != "checked"}

    @property
    def name(self) -> str:
        """The scenario's name, or its file's."""
        return self.checked.name

    def folder(self, what: str = "") -> Path:
        """Default folder of the results; `what` is done with the scenario, such as `compare`."""
        if self.is_file:
            return _core.default_folder(self.file, what)
        return Path("out") / (f"{self.name}-{what}" if what else self.name)

    @property
    def runs(self) -> list[RunName]:
        """Every run, in the order series, sweep, seeds."""
        return [
            RunName(place, name, series, dict(point), seed)
            for place, (name, series, point, seed) in enumerate(self.checked.runs())
        ]


def as_settings(settings: Iterable[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """`KEY=VALUE` texts."""
    if isinstance(settings, Mapping):
        return tuple(f"{key}={toml_value(value)}" for key, value in settings.items())
    if isinstance(settings, str):
        return (settings,)
    return tuple(settings)


def toml_value(value: object) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {toml_value(each)}" for key, each in value.items())
        return "{ " + inside + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    made = plain(value)
    if isinstance(made, list):
        return toml_value(made)
    return tomli_w.dumps({"v": made}).split("=", 1)[1].strip()


def plain(value: Any) -> Any:
    """Dictionaries and lists of TOML's types: tuples, paths and numpy's as scenarios mean them."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple | range):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    # Arrays and numbers of numpy and polars have no types of TOML, but say what they are.
    to_plain = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    return plain(to_plain()) if callable(to_plain) else value
