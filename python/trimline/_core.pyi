from collections.abc import Callable
from os import PathLike
from typing import final

__all__ = ["Scenario", "__version__", "command", "scenario_of", "schema"]

__version__: str

_Progress = Callable[[int, int | None, int, int, int], object]

@final
class Scenario:
    def __new__(cls, file: str, text: str, name: str, settings: list[str]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    def runs(self) -> list[tuple[str, str, list[tuple[str, str]], int]]: ...
    def is_there(self, place: int, directory: str | PathLike[str]) -> bool: ...
    def run(
        self,
        place: int,
        directory: str | PathLike[str],
        resume: bool,
        progress: _Progress | None,
    ) -> str: ...

def scenario_of(path: str | PathLike[str]) -> str | None: ...
def command(words: list[str]) -> int: ...
def schema() -> str: ...
