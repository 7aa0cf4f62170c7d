from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import final

__all__ = [
    "Claim",
    "Scenario",
    "__version__",
    "command",
    "default_folder",
    "put",
    "scenario_of",
    "schema",
]

__version__: str

_Progress = Callable[[int, int | None, int, int, int], object]

@final
class Claim:
    def release(self) -> None: ...

@final
class Scenario:
    def __new__(cls, file: str, text: str, name: str, settings: list[str]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    def runs(self) -> list[tuple[str, str, list[tuple[str, str]], int]]: ...
    def claim(self, folder: str | PathLike[str], places: list[int]) -> tuple[Claim, list[str]]: ...
    def fit(self, places: list[int], at_once: int) -> int: ...
    def overload(self, places: list[int]) -> list[str]: ...
    def is_there(self, place: int, directory: str | PathLike[str]) -> bool: ...
    def run(
        self,
        place: int,
        directory: str | PathLike[str],
        resume: bool,
        progress: _Progress | None,
    ) -> str: ...

def scenario_of(path: str | PathLike[str]) -> str | None: ...
def put(directory: str | PathLike[str], files: dict[str, bytes]) -> None: ...
def default_folder(path: str | PathLike[str], what: str) -> Path: ...
def command(words: list[str]) -> int: ...
def schema() -> str: ...
