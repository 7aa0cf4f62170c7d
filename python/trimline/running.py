"""`trimline.run`: every run of a scenario, here and now."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimline.progress import Progress
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
    there. The interpreter is free meanwhile. Ctrl-C raises `Interrupted`, a `KeyboardInterrupt`
    with the finished runs; with `resume` the next call does the others. A terminal and a notebook
    show a progress bar, unless `progress` is false; if it is true, stderr always gets one. Runs
    that need more memory than there is are a `MemoryError`, unless `ignore_memory`.
    """
    read = Scenario.of(scenario, settings=settings, seeds=seeds)
    folder = Path(out) if out is not None else read.folder()
    runs = read.runs
    if not ignore_memory:
        read.checked.fit([each.place for each in runs], 1)
    with locked(read, folder, runs), interruptible(read, folder, runs, resume):
        left = pending(read, folder, runs) if resume else runs
        with Progress(len(runs), len(runs) - len(left), progress) as shown:
            for each in left:
                watch = shown.watch(each.name)
                read.checked.run(each.place, folder / each.name, resume, watch)
                shown.end(each.name)
    return collected(folder, runs)


class Incomplete:
    """An exception of a call that did not finish all runs: its results, and what is missing."""

    #: Results, missing runs, failed runs, and true if the same call resumes.
    args: tuple[Any, ...]

    @property
    def results(self) -> Results:
        """The finished runs."""
        found: Results = self.args[0]
        return found

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of runs without a result."""
        names: tuple[str, ...] = self.args[1]
        return names

    @property
    def failed(self) -> dict[str, str]:
        """The runs that failed, and why."""
        reasons: dict[str, str] = self.args[2]
        return reasons

    def __str__(self) -> str:
        """Says how many runs are done, which are missing, and how to do them."""
        done, missing, failed, resumes = self.args
        total = len(done) + len(missing)
        text = f"{len(done)} of {total} runs are done and stay in {done.folder}"
        if failed:
            first, reason = next(iter(failed.items()))
            text = f"{len(failed)} of {total} runs failed, {first}: {reason}; {text}"
        if missing:
            more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            call = "the same call" if resumes else "the same call with resume=True"
            text += f"; missing: {', '.join(missing[:NAMED])}{more}; {call} does only these"
        return text


class Interrupted(Incomplete, KeyboardInterrupt):
    """Ctrl-C ended a call before its last run."""


#: Missing runs that a message names.
NAMED = 3


@contextmanager
def interruptible(
    scenario: Scenario, folder: Path, runs: Sequence[RunName], resumes: bool
) -> Iterator[None]:
    """Ctrl-C raises `Interrupted` meanwhile."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(*done_and_missing(scenario, folder, runs), {}, resumes) from None


def done_and_missing(
    scenario: Scenario, folder: Path, runs: Sequence[RunName]
) -> tuple[Results, tuple[str, ...]]:
    """The results of finished runs, and the names of the others."""
    left = pending(scenario, folder, runs)
    places = {run.place for run in left}
    done = [run for run in runs if run.place not in places]
    return collected(folder, done), tuple(run.name for run in left)


def pending(scenario: Scenario, folder: Path, runs: Sequence[RunName]) -> list[RunName]:
    """The runs that have no result of this scenario by this program in the folder."""
    return [run for run in runs if not scenario.checked.is_there(run.place, folder / run.name)]


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
