"""A worker process: takes runs from its stdin, gives their files to its stdout.

The other end is `trimline.sweeping`. Workers are programs of their own and import nothing of the
caller's: scripts need no guard, and a worker that is killed ends no other process.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from trimline.progress import share
from trimline.scenario import Scenario

#: The files of a result, by name.
Files = dict[str, bytes]


def one(scenario: Scenario, place: int, progress: Callable[..., object] | None = None) -> Files:
    """Makes a run in a folder of its own; gives its files."""
    with tempfile.TemporaryDirectory(prefix="trimline-") as scratch:
        made = Path(scratch) / "run"
        scenario.checked.run(place, made, False, progress)
        return {path.name: path.read_bytes() for path in sorted(made.iterdir())}


class WorkerDied(Exception):
    """The worker ended without an answer."""


class Worker:
    """The caller's end of a worker."""

    def __init__(self) -> None:
        """Starts the process."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from trimline.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the caller, who ends its workers.
            start_new_session=True,
        )

    def run(self, scenario: Scenario, place: int, report: Callable[[float], object]) -> Files | str:
        """A run's files, or what is wrong with it; `report` gets the share that is done."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            send(self.process.stdin, (scenario, place))
            while isinstance(answer := receive(self.process.stdout), float):
                report(answer)
        except (OSError, EOFError) as error:
            raise WorkerDied from error
        if not isinstance(answer, dict | str):
            raise WorkerDied
        return answer

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.process.kill()
        self.process.communicate()


def send(pipe: BinaryIO | Any, value: object) -> None:
    """One value over a pipe."""
    pickle.dump(value, pipe)
    pipe.flush()


def receive(pipe: BinaryIO | Any) -> object:
    """The next value of a pipe; `EOFError` where it ends, also in the middle of a value."""
    try:
        return pickle.load(pipe)
    except pickle.UnpicklingError as error:
        raise EOFError from error


def main() -> None:
    """Works until no more requests come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints must not stand among the answers.
    sys.stdout = sys.stderr
    while True:
        try:
            job: Any = receive(asked)
        except EOFError:
            return
        scenario, place = job
        try:
            answer: Files | str = one(scenario, place, lambda *at: send(answers, share(*at)))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        try:
            send(answers, answer)
        except OSError:
            # The caller has gone.
            return
