"""Progress bars with the time left."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

#: Done and total runs, the share of them, and the time left.
FORMAT = "{desc} |{bar}| {percentage:.0f}%, {remaining} left"


def share(simulated: int, duration: int | None, hops: int, done: int, flows: int) -> float:
    """The share of a run that is done, from the progress that the simulator reports."""
    return simulated / duration if duration else done / flows if flows else 0.0


class Progress:
    """Runs that are done and shares of those under way; a bar shows them if wanted."""

    def __init__(self, runs: int, done: int, shown: bool | None) -> None:
        """`done` of the runs need no time. `None` shows a bar on a terminal or in a notebook."""
        self.runs, self.done = runs, done
        self.shares: dict[str, float] = {}
        text = description(runs, done)
        self.bar = bar(text, runs, done) if (is_watched() if shown is None else shown) else None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def watch(self, run: str) -> Callable[..., None]:
        """Returns a callback that takes the progress of a run from the simulator."""
        return lambda *progress: self.at(run, share(*progress))

    def at(self, run: str, share: float) -> None:
        """Sets the share of a run that is done."""
        self.shares[run] = share
        self.draw()

    def end(self, run: str) -> None:
        """Counts a run that has ended."""
        self.shares.pop(run, None)
        self.done += 1
        self.draw()

    def draw(self) -> None:
        """Moves the bar."""
        if self.bar is not None:
            self.bar.set_description_str(description(self.runs, self.done), refresh=False)
            self.bar.update(self.done + sum(self.shares.values()) - self.bar.n)


def is_watched() -> bool:
    """True if stderr is a terminal or the output of a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")


def counted(items: Collection[T], text: str, shown: bool | None = None) -> Iterator[T]:
    """Yields the items, with a bar for those that are done."""
    if not (is_watched() if shown is None else shown):
        yield from items
        return
    with bar(text, len(items), 0) as drawn:
        for item in items:
            yield item
            drawn.update()


def bar(text: str, total: int, done: int) -> Any:
    """A bar over runs or other items, which goes when it is closed."""
    with warnings.catch_warnings(action="ignore"):
        # A notebook without ipywidgets gets the bar of a terminal.
        from tqdm.auto import tqdm  # noqa: PLC0415

    # The time left is by the mean rate since the start: shares of runs come in bursts.
    return tqdm(
        desc=text,
        total=total,
        initial=done,
        leave=False,
        smoothing=0,
        miniters=0,
        bar_format=FORMAT,
    )


def description(runs: int, done: int) -> str:
    """The text before the bar."""
    return f"{done} of {runs} runs"
