"""`trimline.sweep` and calls that do not do all of their runs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import trimline
from tests import skip
from tests.scratch import INCAST, InScratch, files, finished
from trimline import _core, progress, sweeping, worker

#: A run of a second or more.
LONG = {**INCAST, "duration": "300ms", "output": {}}


class Sweep(InScratch):
    """`trimline.sweep`: the same bytes wherever the runs are."""

    def test_a_pool_gives_the_bytes_of_one_process(self) -> None:
        """Run by run, file by file."""
        trimline.run(INCAST, self.out / "here", seeds="1..4")
        trimline.sweep(INCAST, self.out / "pool", seeds="1..4", workers=2)
        self.assertEqual(files(self.out / "here"), files(self.out / "pool"))

    def test_a_killed_worker_loses_nothing(self) -> None:
        """Its run is done by another one; the finished runs stay."""
        killed: list[int] = []

        class Doomed(worker.Worker):
            def run(
                self, scenario: trimline.Scenario, place: int, report: Callable[[float], object]
            ) -> worker.Files | str:
                if place == 2 and not killed:
                    killed.append(self.process.pid)
                    self.process.kill()
                return super().run(scenario, place, report)

        with mock.patch.object(sweeping, "Worker", Doomed):
            trimline.sweep(INCAST, self.out / "pool", seeds="1..4", workers=2)
        self.assertEqual(len(killed), 1)
        trimline.run(INCAST, self.out / "here", seeds="1..4")
        self.assertEqual(files(self.out / "here"), files(self.out / "pool"))

    def test_a_run_that_kills_every_worker_is_given_up(self) -> None:
        """After three trials; the other runs have their results."""

        class Doomed(worker.Worker):
            def run(
                self, scenario: trimline.Scenario, place: int, report: Callable[[float], object]
            ) -> worker.Files | str:
                if place == 1:
                    self.process.kill()
                return super().run(scenario, place, report)

        with (
            mock.patch.object(sweeping, "Worker", Doomed),
            self.assertRaisesRegex(
                trimline.SweepError, "1 of 3 runs failed, seed-2: .* died 3.*missing: seed-2; the"
            ) as caught,
        ):
            trimline.sweep(INCAST, self.out, seeds="1..3", workers=2)
        self.assertEqual([run.seed for run in caught.exception.results], [1, 3])
        self.assertEqual(caught.exception.missing, ("seed-2",))
        self.assertEqual(list(caught.exception.failed), ["seed-2"])
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["seed-1", "seed-3"])
        trimline.sweep(INCAST, self.out, seeds="1..3", workers=1)
        self.assertEqual(len(trimline.Results.read(self.out)), 3)

    def test_a_sweep_that_was_killed_resumes(self) -> None:
        """Does not repeat the finished runs of fifty seeds; all files are the same bytes."""
        script = (
            "import json, sys, trimline\n"
            "trimline.sweep(json.loads(sys.argv[1]), sys.argv[2], seeds='1..50', workers=2)\n"
        )
        words = [sys.executable, "-c", script, json.dumps(INCAST), str(self.out / "pool")]
        process = subprocess.Popen(words)
        while finished(self.out) < 5 and process.poll() is None:
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it goes on")
        process.kill()
        process.wait()
        done = {path: path.stat().st_mtime_ns for path in self.out.rglob("manifest.json")}
        results = trimline.sweep(INCAST, self.out / "pool", seeds="1..50", workers=2)
        self.assertEqual(len(results), 50)
        whole = [path for path in done if not path.parent.name.startswith(".")]
        self.assertGreaterEqual(len(whole), 4)
        for path in whole:
            self.assertEqual(path.stat().st_mtime_ns, done[path])
        trimline.run(INCAST, self.out / "here", seeds="1..50")
        self.assertEqual(
            files(self.out / "here"),
            {name: text for name, text in files(self.out / "pool").items() if name[0] != "."},
        )

    def test_an_interrupt_ends_workers_and_keeps_finished_runs(self) -> None:
        """Ctrl-C in the middle: an exception, no process, nothing half-written."""
        script = (
            "import json, signal, sys, trimline\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "trimline.sweep(json.loads(sys.argv[1]), sys.argv[2], seeds='1..500', workers=2)\n"
        )
        mark = f"TRIMLINE_TEST={self.out.name}"
        with subprocess.Popen(
            [sys.executable, "-c", script, json.dumps(INCAST), str(self.out / "pool")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRIMLINE_TEST": self.out.name},
        ) as process:
            while finished(self.out) < 5:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        last = said.rstrip().splitlines()[-1]
        told = re.search(r"Interrupted: (\d+) of 500 runs are done .* and \d+ more; the same", last)
        assert told is not None, said
        self.assertEqual(int(told[1]), finished(self.out))
        self.assertNotIn("Exception in thread", said)
        self.assertIn(process.returncode, (1, -signal.SIGINT))
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                self.assertNotIn(mark.encode(), path.read_bytes(), path)
        for path in (self.out / "pool").iterdir():
            self.assertTrue((path / "manifest.json").is_file(), path)


class Incomplete(InScratch):
    """Calls that did not do all of their runs."""

    def test_finished_runs_are_in_the_exception_and_are_not_repeated(self) -> None:
        """Of `run` and of `sweep`: Ctrl-C after the first run, then the call again."""
        calls: list[Callable[..., trimline.Results]] = [trimline.run, trimline.sweep]
        for call in calls:
            out = self.out / call.__name__
            more = {"workers": 1} if call is trimline.sweep else {}
            with (
                mock.patch.object(progress.Progress, "end", side_effect=KeyboardInterrupt),
                self.assertRaisesRegex(KeyboardInterrupt, "1 of 3 runs are done") as caught,
            ):
                call(INCAST, out, seeds="1..3", **more)
            error = caught.exception
            assert isinstance(error, trimline.Interrupted)
            self.assertEqual([run.seed for run in error.results], [1])
            self.assertEqual(len(error.results.flows), 26)
            self.assertEqual((error.missing, error.failed), (("seed-2", "seed-3"), {}))
            self.assertEqual("with resume=True" in str(error), call is trimline.run)
            self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))
            before = (out / "seed-1/manifest.json").stat().st_mtime_ns
            self.assertEqual(len(call(INCAST, out, seeds="1..3", resume=True, **more)), 3)
            self.assertEqual((out / "seed-1/manifest.json").stat().st_mtime_ns, before)

    def test_no_worker_outlives_a_failed_sweep(self) -> None:
        """A full disk ends a sweep; its exception, which is kept here, keeps no worker alive."""
        before = threading.active_count()
        with mock.patch.object(_core, "put", side_effect=OSError("no space left")):
            # `assertRaises` would clear the frames of the exception.
            try:
                trimline.sweep(LONG, self.out, seeds="1..9", workers=2)
            except OSError as error:
                kept = error
        self.assertEqual(threading.active_count(), before)
        self.assertEqual(str(kept), "no space left")

    def test_a_worker_that_does_not_start_fails_its_runs(self) -> None:
        """A machine without room for a process: the call says so, and ends."""
        with (
            mock.patch.object(sweeping, "Worker", side_effect=OSError("no more processes")),
            self.assertRaisesRegex(trimline.SweepError, "2 of 2 .*starts: no more processes"),
        ):
            trimline.sweep(INCAST, self.out, seeds="1..2", workers=2)


class Bar(InScratch):
    """The progress bar."""

    def shown(
        self, stream: io.StringIO, shown: bool | None, scenario: dict[str, Any] = INCAST
    ) -> list[str]:
        """What a sweep of one run draws."""
        out = self.out / scenario["duration"]
        with contextlib.redirect_stderr(stream):
            trimline.sweep(scenario, out, workers=1, resume=False, progress=shown)
        return stream.getvalue().split("\r")

    def test_the_bar_moves_within_a_run_and_goes(self) -> None:
        """Shares of the run with the time left; in the end the line is empty."""
        drawn = self.shown(io.StringIO(), True, LONG)
        shares = [
            int(found[1])
            for line in drawn
            if (found := re.fullmatch(r"0 of 1 runs \|.*\| (\d+)%, .* left *", line))
        ]
        self.assertGreater(len(set(shares)), 3)
        self.assertEqual(shares, sorted(shares))
        self.assertEqual("".join(drawn[-2:]).strip(), "")

    def test_only_a_terminal_and_a_notebook_get_a_bar(self) -> None:
        """Nothing is written to files, unless it is asked for."""

        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
        self.assertEqual(self.shown(io.StringIO(), None), [""])
        self.assertEqual(self.shown(Terminal(), False), [""])
        for stream in (Terminal(), notebook()):
            self.assertIn("0 of 1 runs |", "".join(self.shown(stream, None)))

    def test_a_bar_is_at_the_sum_of_ended_runs_and_shares(self) -> None:
        """Also where a run begins again, as on a worker that died."""
        with contextlib.redirect_stderr(io.StringIO()), progress.Progress(9, 2, True) as bar:
            for run, share, expected in (
                ("a", 0.25, 2.25),
                ("b", 0.5, 2.75),
                ("a", 0.0, 2.5),
                ("b", None, 3.0),
                ("a", 1.0, 4.0),
                ("a", None, 4.0),
                ("c", None, 5.0),
            ):
                _ = bar.end(run) if share is None else bar.at(run, share)
                self.assertEqual(bar.bar.n, expected)
        self.assertEqual(progress.share(500, 1000, 7, 0, 4), 0.5)
        self.assertEqual(progress.share(500, None, 7, 3, 4), 0.75)


class Cluster(InScratch):
    """Sweeps on a Dask cluster, by the address of its scheduler."""

    def test_fifty_seeds_on_a_cluster_match_those_of_the_pool(self) -> None:
        """A cluster gives the same bytes, also when a worker is killed in the middle."""
        try:
            from distributed import LocalCluster  # noqa: PLC0415
        except ImportError:
            skip(self, "distributed is not installed")
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            victim = next(iter(cluster.workers.values())).process.process.pid

            def kill() -> None:
                while finished(self.out) < 5:
                    time.sleep(0.01)
                os.kill(victim, signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            address = cluster.scheduler_address
            trimline.sweep(INCAST, self.out / "dask", seeds="1..50", scheduler=address)
            killer.join()
            with (
                mock.patch.object(sweeping, "one", fails_of_seed_2),
                self.assertRaisesRegex(trimline.SweepError, "seed-2: no memory; 2 of 3 ") as caught,
            ):
                trimline.sweep(INCAST, self.out / "failed", seeds="1..3", scheduler=address)
            self.assertEqual([run.seed for run in caught.exception.results], [1, 3])
            with (
                mock.patch.object(progress.Progress, "end", side_effect=KeyboardInterrupt),
                self.assertRaisesRegex(trimline.Interrupted, "1 of 4 runs are done"),
            ):
                trimline.sweep(INCAST, self.out / "cut", seeds="1..4", scheduler=address)
        trimline.sweep(INCAST, self.out / "pool", seeds="1..50", workers=2)
        self.assertEqual(files(self.out / "dask"), files(self.out / "pool"))


def fails_of_seed_2(scenario: trimline.Scenario, place: int) -> worker.Files:
    """A run on a worker that lacks something."""
    if place == 1:
        raise MemoryError("no memory")
    return worker.one(scenario, place)


if __name__ == "__main__":
    unittest.main()
