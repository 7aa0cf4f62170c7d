"""`trimline.run`: every run of a scenario, here and now."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimline.results import Result, Results
from trimline.scenario import RunName, Scenario
from trimline.swept import typed


def run(
    scenario: Scenario | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    settings: Iterable[str] | Mapping[str, Any] = (),
    seeds: int | str | Sequence[int] | None = None,
    resume: bool = False,
    progress: bool | None = None,
    ignore_memory: bool = False,
) -> Results:
    """Runs every series, sweep point and seed one after the other; gives the results.

    Results are written below `out` (default: as the command, out/ and the place of the scenario's
    file, or its name). The folder holds the runs of this call alone: what an earlier one left there
    of this scenario is removed, anything else is an `OSError`, and so is another call that writes
    there. The interpreter is free meanwhile. Ctrl-C raises `KeyboardInterrupt`: finished runs stay,
    and with `resume` the next call goes on behind them. Progress is shown on a terminal, or as
    `progress` says. Runs that need more memory than there is are a `MemoryError`, unless
    `ignore_memory`.
    """
    read = Scenario.of(scenario, settings=settings, seeds=seeds)
    folder = Path(out) if out is not None else read.folder()
    show = sys.stderr.isatty() if progress is None else progress
    runs = read.runs
    if not ignore_memory:
        read.checked.fit([each.place for each in runs], 1)
    with locked(read, folder, runs):
        for each in runs:
            progress_line = ProgressLine(each.name, each.place, len(runs)) if show else None
            read.checked.run(each.place, folder / each.name, resume, progress_line)
            if progress_line is not None:
                progress_line.end()
    return collected(folder, runs)


@contextmanager
def locked(scenario: Scenario, folder: Path, runs: Sequence[RunName]) -> Iterator[None]:
    """The folder belongs to these runs meanwhile; warns of what their plans make doubtful."""
    places = [run.place for run in runs]
    for sentence in scenario.checked.warnings(places):
        warnings.warn(sentence, stacklevel=4)
    lock, removed = scenario.checked.lock(folder, places)
    try:
        if removed:
            warnings.warn(removed, stacklevel=4)
        yield
    finally:
        lock.release()


def collected(folder: Path, runs: Sequence[RunName]) -> Results:
    """The results of a scenario's runs, in its order."""
    made = (Result(folder / r.name, r.series, typed(r.point), r.seed) for r in runs)
    return Results(folder, tuple(made))


class ProgressLine:
    """One line on a terminal: how far a run is."""

    def __init__(
        self, name: str, place: int, runs: int, write: Callable[[str], object] | None = None
    ) -> None:
        """`write` takes the line; by default it overwrites itself on stderr."""
        self.head = f"{name} ({place + 1} of {runs})" if runs > 1 else name
        self.start = time.monotonic()
        self.write = write or sys.stderr.write

    def __call__(
        self, simulated: int, duration: int | None, hops: int, done: int, flows: int
    ) -> bool:
        """Tells; the run goes on."""
        seconds = max(time.monotonic() - self.start, 1e-9)
        share = simulated / duration if duration else done / flows if flows else 0.0
        ahead = f", {seconds * (1 - share) / share:.0f} s to go" if share > 0.01 else ""
        rate = hops / seconds / 1e6
        line = f"{self.head}: {simulated / 1e9:.3f} ms simulated, {share:.0%}{ahead}, "
        self.write(f"\r{line}{rate:.1f} M packet-hops/s\x1b[K")
        return True

    def end(self) -> None:
        """Clears the line."""
        self.write("\r\x1b[K")
