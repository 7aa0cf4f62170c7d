"""Progress on a terminal: one line with the work that is done and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

T = TypeVar("T")


class CountLine:
    """One line on a terminal: how many of `total` are done, and the time left."""

    def __init__(self, head: str, total: int, write: Callable[[str], object] | None = None) -> None:
        """`write` takes the line; by default it overwrites itself on stderr."""
        self.head, self.total = head, total
        self.start = time.monotonic()
        self.write = write or sys.stderr.write

    def __call__(self, done: int) -> None:
        """Shows the line."""
        seconds = time.monotonic() - self.start
        left = f", {seconds * (self.total - done) / done:.0f} s to go" if done else ""
        self.write(f"\r{self.head}: {done} of {self.total}{left}\x1b[K")

    def end(self) -> None:
        """Clears the line."""
        self.write("\r\x1b[K")


def counted(items: Collection[T], head: str, show: bool | None = None) -> Iterator[T]:
    """Yields the items, with a line for those that are done; by default only on a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    line = CountLine(head, len(items))
    try:
        for done, item in enumerate(items):
            line(done)
            yield item
    finally:
        line.end()
