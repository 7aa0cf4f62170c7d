"""`trimline.sweep`: runs side by side, in processes of this machine or on a Dask cluster."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from trimline import _core
from trimline.progress import CountLine
from trimline.results import Results
from trimline.running import collected, locked
from trimline.scenario import RunName, Scenario, ScenarioError
from trimline.worker import Files, Worker, WorkerDied, one

#: How often a run is tried whose worker dies: a run that kills its worker is not tried for ever.
TRIALS = 3


class SweepError(Exception):
    """Runs that could not be done; the others have their results."""


def sweep(
    scenario: Scenario | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    settings: Iterable[str] | Mapping[str, Any] = (),
    seeds: int | str | Sequence[int] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool | None = None,
    series: Sequence[str] | None = None,
    ignore_memory: bool = False,
) -> Results:
    """Runs every series, sweep point and seed, several at a time; gives the results.

    Of a scenario with many series, `series` names those that are run.

    `workers` processes (default: one a core), or the workers of a Dask cluster by the address of
    its `scheduler` (`tcp://host:8786`; needs trimline[dask]). Either way the files are the same,
    to the byte. A result is written when its run ends, whole or not at all; with `resume` runs
    whose result is there, of the same scenario by the same program, are not done again. A run
    whose worker dies is tried again on another, three times in all. Folder and memory are as in
    `run`; only as many runs are under way as fit in memory together. The memory of a
    cluster's workers is not known and not checked.
    """
    read = Scenario.of(scenario, settings=settings, seeds=seeds)
    folder = Path(out) if out is not None else read.folder()
    runs = chosen(read, series)
    processes = processes_of(read, runs, workers, ignore_memory or scheduler is not None)
    show = sys.stderr.isatty() if progress is None else progress
    with locked(read, folder, runs):
        failed = do(read, runs, folder, resume, scheduler, processes, show)
    if failed:
        first = next(iter(failed.items()))
        raise SweepError(f"{len(failed)} of {len(runs)} runs failed, {first[0]}: {first[1]}")
    return collected(folder, runs)


def chosen(scenario: Scenario, series: Sequence[str] | None) -> list[RunName]:
    """The runs of these series; refuses a series that does not exist."""
    runs = scenario.runs
    if series is None:
        return runs
    if not series:
        raise ScenarioError("series is empty; expected at least one name, or None for all")
    there = list(dict.fromkeys(run.series for run in runs))
    for name in series:
        if name not in there:
            known = ", ".join(filter(None, there)) or "none"
            raise ScenarioError(f"no series {name!r}; there are {known}")
    return [run for run in runs if run.series in series]


def processes_of(
    scenario: Scenario, runs: Sequence[RunName], workers: int | None, ignore_memory: bool
) -> int:
    """Returns the number of processes: `workers` or one a core, and no more than memory holds."""
    if workers is not None and workers < 1:
        raise ValueError(f"{workers} workers; expected at least 1")
    largest = workers or os.cpu_count() or 1
    if ignore_memory:
        return largest
    return scenario.checked.fit([run.place for run in runs], largest)


def do(
    read: Scenario,
    runs: Sequence[RunName],
    folder: Path,
    resume: bool,
    scheduler: str | None,
    processes: int,
    show: bool,
) -> dict[str, str]:
    """Does every run that is to be done; gives what is wrong with those that failed."""
    pending = [
        run for run in runs if not (resume and read.checked.is_there(run.place, folder / run.name))
    ]
    failed: dict[str, str] = {}
    line = CountLine("runs", len(pending)) if show else None
    if scheduler:
        finish = on_cluster(read, pending, scheduler)
    else:
        finish = on_pool(read, pending, processes)
    for done, (run, files) in enumerate(finish, start=1):
        if isinstance(files, str):
            failed[run.name] = files
        else:
            _core.put(folder / run.name, files)
        if line is not None:
            line(done)
    if line is not None:
        line.end()
    return failed


Finished = Iterator[tuple[RunName, Files | str]]


def on_pool(scenario: Scenario, runs: Sequence[RunName], workers: int) -> Finished:
    """Runs in processes of this machine; one that dies is replaced."""
    waiting: queue.SimpleQueue[RunName] = queue.SimpleQueue()
    for run in runs:
        waiting.put(run)
    answers: queue.SimpleQueue[tuple[RunName, Files | str]] = queue.SimpleQueue()
    pool = Pool()

    def work() -> None:
        with Seat(pool) as seat:
            while True:
                try:
                    run = waiting.get_nowait()
                    answers.put((run, seat.run(scenario, run)))
                except (queue.Empty, PoolEnded):
                    return

    processes = min(workers, len(runs))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(processes)]
    for thread in threads:
        thread.start()
    try:
        for _ in runs:
            # A timeout, so that Ctrl-C is heard meanwhile.
            while True:
                try:
                    yield answers.get(timeout=0.2)
                    break
                except queue.Empty:
                    continue
    finally:
        # Workers are killed; then no thread waits for one.
        pool.end()
        for thread in threads:
            thread.join()


class PoolEnded(Exception):
    """No worker starts any more."""


class Pool:
    """The processes of a sweep, which can be ended whatever they do."""

    def __init__(self) -> None:
        """Has none yet."""
        self.lock = threading.Lock()
        self.alive: set[Worker] = set()
        self.is_over = False

    def start(self) -> Worker:
        """A new worker; it belongs to the caller."""
        with self.lock:
            if self.is_over:
                raise PoolEnded
            worker = Worker()
            self.alive.add(worker)
            return worker

    def forget(self, worker: Worker) -> None:
        """Ends a worker of the caller's."""
        with self.lock:
            self.alive.discard(worker)
        worker.end()

    def end(self) -> None:
        """Kills every worker; those to whom they belong will notice."""
        with self.lock:
            self.is_over = True
            for worker in self.alive:
                worker.process.kill()


class Seat:
    """A worker at a time, for one thread."""

    def __init__(self, pool: Pool) -> None:
        """Takes no worker before the first run."""
        self.pool = pool
        self.worker: Worker | None = None

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Ends the worker, if there is one."""
        if self.worker is not None:
            self.pool.forget(self.worker)
            self.worker = None

    def run(self, scenario: Scenario, run: RunName) -> Files | str:
        """A run; when its worker dies, again on a new one."""
        for _ in range(TRIALS):
            self.worker = self.worker or self.pool.start()
            try:
                return self.worker.run(scenario, run.place)
            except WorkerDied:
                self.leave()
        return f"its worker died {TRIALS} times"


def on_cluster(scenario: Scenario, runs: Sequence[RunName], scheduler: str) -> Finished:
    """Runs on the workers of a Dask cluster; files come back over the network."""
    try:
        dask: Any = import_module("dask.distributed")
    except ImportError as error:
        raise SweepError("a scheduler needs Dask: pip install 'trimline[dask]'") from error
    with dask.Client(scheduler, set_as_default=False) as client:
        # Not pure: a result that Dask remembers may be of another program.
        futures = {client.submit(one, scenario, run.place, pure=False): run for run in runs}
        for future in dask.as_completed(futures, loop=client.loop):
            run, problem = futures[future], future.exception()
            yield run, future.result() if problem is None else str(problem)
            future.release()
