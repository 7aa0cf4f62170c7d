"""The package as a user calls it: run, sweep, read, compare, report."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import polars
import tomli_w
from matplotlib import pyplot

import trimline
from tests import skip
from trimline import (
    _core,
    drawings,
    looks,
    reporting,
    results,
    running,
    sweeping,
    swept,
    worker,
)
from trimline.comparison import ended, goodputs_gbps, measures, size_name, table, with_series
from trimline.means import Measure
from trimline.plot import comparison

INCAST: dict[str, Any] = {
    "name": "incast",
    "duration": "1ms",
    "topology": {"fattree": {"k": 4}},
    "workload": [
        {"name": "replies", "incast": {"receiver": 0, "senders": 10}, "size": "90KB"},
        {"name": "background", "permutation": {}, "size": "long-lived"},
    ],
    "output": {"ports": True, "series": "50us", "timeline": {"places": ["tor 0 down 0"]}},
}


def finished(folder: Path) -> int:
    """Runs with a manifest, while folders come, go and are renamed."""
    return sum("manifest.json" in names for _, _, names in os.walk(folder))


def files(folder: Path) -> dict[str, bytes]:
    """The files that must repeat: all but the manifest, which has the wall time."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in found
        if path.name not in ("manifest.json", "report.html")
    }


def setUpModule() -> None:
    """A shell lets background processes ignore Ctrl-C; the processes tested here must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class InScratch(unittest.TestCase):
    """A folder of its own for each test."""

    def setUp(self) -> None:
        """Makes the folder."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name)


class Run(InScratch):
    """`trimline.run` and what it gives."""

    def test_results_are_frames_with_the_keys_of_runs(self) -> None:
        """Flows, links and queues are polars frames with the run's keys in front."""
        results = trimline.run(INCAST, self.out, seeds=[1, 2])
        self.assertEqual([run.seed for run in results], [1, 2])
        flows = results.flows
        self.assertEqual(flows.columns[:4], ["series", "seed", "interrupted", "workload"])
        self.assertEqual(len(flows), 2 * (10 + 16))
        long = flows.filter(polars.col("size_bytes").is_null())
        self.assertEqual(len(long), 32)
        self.assertEqual(long["fct_receiver_ps"].null_count(), 32)
        down = results.ports.filter(polars.col("name") == "tor 0 down 0")
        # A millisecond at 10 Gb/s is 1.25 MB.
        for share, sent in down.select("utilisation", "bytes").iter_rows():
            self.assertAlmostEqual(share, sent / 1.25e6)
        self.assertTrue((results.ports["utilisation"] <= 1.01).all())
        # While eleven senders have more than fits, the link is never idle.
        busy = results[0].timeline.filter(
            polars.col("event") == "depart",
            polars.col("time_ps").is_between(100_000_000, 800_000_000),
        )
        sent = (busy["until_ps"] - busy["time_ps"]).sum()
        self.assertGreater(sent, 0.99 * 700_000_000)
        layers = set(results.queues["layer"].cast(str))
        self.assertEqual(len(layers), 6)
        self.assertGreater(results[0].timeline.filter(event="trim").height, 0)

    def test_mistakes_name_line_and_word(self) -> None:
        """Reports a mistake in a dictionary as in a file."""
        with self.assertRaisesRegex(
            trimline.ScenarioError, r"scenario:\d+:\d+: unknown key `toplogy`"
        ):
            trimline.run({**INCAST, "toplogy": {}}, self.out)
        with self.assertRaisesRegex(trimline.ScenarioError, "--set:1:1: unknown key"):
            trimline.run(INCAST, self.out, settings=["colour=1"])
        self.assertEqual(list(self.out.iterdir()), [])

    def test_resume_repeats_no_finished_run(self) -> None:
        """A result that is there stays as it is."""
        trimline.run(INCAST, self.out)
        before = (self.out / "seed-1/manifest.json").read_bytes()
        trimline.run(INCAST, self.out, resume=True)
        self.assertEqual((self.out / "seed-1/manifest.json").read_bytes(), before)
        trimline.run(INCAST, self.out)
        self.assertNotEqual((self.out / "seed-1/manifest.json").read_bytes(), before)

    def test_a_run_releases_the_interpreter_and_handles_interrupts(self) -> None:
        """Other threads go on while a run lasts; Ctrl-C ends it and writes nothing."""
        long = {**INCAST, "duration": "100s", "output": {}}
        counted = 0
        over = threading.Event()

        def count() -> None:
            nonlocal counted
            while not over.is_set():
                counted += 1
                time.sleep(0.001)

        counter = threading.Thread(target=count)
        counter.start()
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            trimline.run(long, self.out)
        over.set()
        counter.join()
        self.assertGreater(counted, 50)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_progress_is_reported(self) -> None:
        """A line with the share and the rate."""
        lines: list[str] = []
        line = running.ProgressLine("a", 0, 2, lines.append)
        self.assertTrue(line(500_000_000, 1_000_000_000, 10**6, 3, 4))
        self.assertIn("a (1 of 2): 0.500 ms simulated, 50%", lines[0])


class Folders(InScratch):
    """A folder holds the runs of one call."""

    def test_runs_of_an_earlier_call_are_not_averaged_in(self) -> None:
        """They go, and that is said; what is something else is refused."""
        trimline.run(INCAST, self.out, seeds="1..3")
        with self.assertWarnsRegex(UserWarning, "removed runs of an earlier command .*seed-1"):
            trimline.run(INCAST, self.out, seeds="1..2", settings=["links.rate=100Gbps"])
        self.assertEqual(len(trimline.Results.read(self.out)), 2)
        with self.assertRaisesRegex(OSError, "holds other results: .*incast"):
            trimline.sweep({**INCAST, "name": "other"}, self.out, seeds="1..2", workers=1)
        self.assertEqual(len(trimline.Results.read(self.out)), 2)

    def test_copied_results_are_refused(self) -> None:
        """By the fingerprint of scenario and settings: for frames and for the report."""
        trimline.run(INCAST, self.out / "a", seeds="1..2")
        trimline.run(INCAST, self.out / "b", seeds="3..4", settings=["links.rate=100Gbps"])
        shutil.copytree(self.out / "b/seed-3", self.out / "a/seed-3")
        for read in (trimline.Results.read, trimline.report):
            with self.assertRaisesRegex(
                trimline.MalformedResult, "different scenarios or settings"
            ):
                read(self.out / "a")

    def test_results_of_two_calls_are_separate(self) -> None:
        """Each has its origin, in groups and in frames."""
        for name, rate in (("a", "10Gbps"), ("b", "100Gbps")):
            rates = [f"links.rate={rate}"]
            trimline.run(INCAST, self.out / name, seeds="1..2", settings=rates)
        results = trimline.Results.read(self.out / "a", self.out / "b")
        self.assertEqual(list(results.groups()), ["a:", "b:"])
        self.assertEqual(results.flows["origin"].unique().sort().to_list(), ["a", "b"])
        self.assertNotIn("origin", trimline.Results.read(self.out / "a").flows.columns)

    def test_two_calls_do_not_write_into_one_folder(self) -> None:
        """The second call fails before it writes anything."""
        scenario = trimline.Scenario.of(INCAST)
        lock, removed = scenario.checked.lock(self.out, [0])
        self.assertIsNone(removed)
        with self.assertRaisesRegex(OSError, "another command is writing"):
            trimline.run(INCAST, self.out)
        lock.release()
        trimline.run(INCAST, self.out)

    def test_folders_match_those_of_the_command(self) -> None:
        """By the place of the scenario's file; of a dictionary by its name."""
        path = self.out / "p1/x.toml"
        path.parent.mkdir()
        path.write_text(tomli_w.dumps(INCAST), encoding="utf-8")
        with contextlib.chdir(self.out):
            results = trimline.run("p1/x.toml")
            self.assertEqual(results.folder, Path("out/p1/x"))
            self.assertTrue(Path("out/p1/x/seed-1/flows.csv").is_file())
            read = trimline.Scenario.of("p1/x.toml")
            self.assertEqual(read.folder("compare"), Path("out/p1/x-compare"))
            self.assertEqual(trimline.Scenario.of(INCAST).folder(), Path("out/incast"))

    def test_a_scenario_without_runs_is_refused(self) -> None:
        """No workers, and a series that is not there."""
        with self.assertRaisesRegex(ValueError, "0 workers; expected at least 1"):
            trimline.sweep(INCAST, self.out, workers=0)
        with self.assertRaisesRegex(trimline.ScenarioError, "no series 'b'; there are none"):
            trimline.sweep(INCAST, self.out, series=["b"])
        checked = trimline.Scenario.of(INCAST).checked
        calls: list[Callable[[list[int]], object]] = [
            checked.warnings,
            checked.cautions,
            lambda places: checked.fit(places, 1),
            lambda places: checked.lock(self.out, places),
        ]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "no run 7 of 1"):
                call([0, 7])
        large = {**INCAST, "duration": "1000000s", "topology": {"fattree": {"k": 16}}}
        with self.assertRaisesRegex(MemoryError, "needs roughly .* TB of memory"):
            trimline.run(large, self.out)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_an_overload_is_warned_of(self) -> None:
        """Flows arrive by a clock, whatever the network carries."""
        flows = {
            "name": "w",
            "random": {},
            "size": "9KB",
            "arrivals": {"poisson": {"load": "200%"}},
        }
        with self.assertWarnsRegex(UserWarning, "workload w offers 201 % of the rate"):
            trimline.run({**INCAST, "duration": "20us", "workload": [flows]}, self.out)


class Frames(InScratch):
    """Types of columns."""

    def test_swept_values_are_typed(self) -> None:
        """Numbers are numbers, quantities are in the order of their size."""
        senders = {"workload": {"replies": {"incast": {"senders": [2, 10]}}}}
        sweep = {**senders, "links": {"delay": ["10us", "2us"]}}
        short = {**INCAST, "duration": "100us", "output": {}, "sweep": sweep}
        results = trimline.run(short, self.out)
        self.assertEqual(results[0].point["senders"], 2)
        for read in (results, trimline.Results.read(self.out)):
            flows = read.flows
            self.assertEqual(flows["senders"].dtype, polars.Int64)
            self.assertEqual(flows["senders"].unique().sort().to_list(), [2, 10])
            self.assertEqual(flows["delay"].unique().sort().to_list(), ["2us", "10us"])
            self.assertGreater(flows.filter(delay="2us", senders=10).height, 0)
        self.assertEqual(swept.type_of(["a", "2us"]), polars.String)
        self.assertEqual(swept.type_of([True, False]), polars.Boolean)
        self.assertEqual(swept.value_of("007"), "007")

    def test_losses_of_links_are_counted_by_cause(self) -> None:
        """In links.csv, the summary, the table of a comparison and the report."""
        lossy = {
            **INCAST,
            "output": {"links": True, "ports": True},
            "impairment": {"loss": "1%", "corruption": "0.5%"},
            "link_event": [{"at": "500us", "link": "host 3", "change": "fail"}],
        }
        run = trimline.run(lossy, self.out)[0]
        sums = {cause: int(run.links[cause].sum()) for cause in ("failed", "lost", "corrupted")}
        self.assertEqual(sums, run.summary["links"])
        self.assertTrue(all(sums.values()), sums)
        self.assertEqual(
            trimline.Results.read(self.out).links["name"].tail(1).to_list(), ["host 15"]
        )
        failed = run.links.filter(polars.col("failed") > 0)["name"]
        self.assertEqual(set(failed), {"host 3", "tor 1 down 1"})
        share = 100 * sum(sums.values()) / run.summary["packets_sent"]
        self.assertAlmostEqual(measures(run)["lost on links (% of packets)"], share)
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("packets that links did not bring", page)
        self.assertIn("<td>host 3</td>", page)

    def test_units_are_sorted_by_size(self) -> None:
        """Checks all units of a scenario, parts and ratios too."""
        for unit in _core.units():
            self.assertEqual(swept.size(f"1.5 {unit}"), 1.5 * _core.units()[unit], unit)
        for labels in (
            ["20ppb", "5ppm", "0.1%", "50%"],
            ["9kbps", "800 Kb/s", "2Mb/s", "1.5Gb/s", "2Gbps"],
            ["1/4", "0.5", "2"],
            ["8:1", "10:1"],
        ):
            order = polars.Enum(labels)
            self.assertEqual(swept.type_of(labels[::-1]), order, labels)

    def test_a_point_has_the_values_of_the_scenario(self) -> None:
        """Whoever reads it: folders have other characters in their names."""
        short = {
            "name": "s",
            "duration": "20us",
            "topology": {"star": {"hosts": 4}},
            "workload": [
                {
                    "name": "w",
                    "random": {},
                    "size": "9KB",
                    "arrivals": {"poisson": {"load": "10%"}},
                }
            ],
            "sweep": {"workload": {"w": {"arrivals": {"poisson": {"load": ["10%", "50%"]}}}}},
        }
        made = trimline.run(short, self.out)
        read = trimline.Results.read(self.out)
        for found in (made, read):
            self.assertEqual([run.point for run in found], [{"load": "10%"}, {"load": "50%"}])
            self.assertEqual(found.flows["load"].dtype, polars.Enum(["10%", "50%"]))
        self.assertTrue(made.flows.equals(read.flows))

    def test_a_run_stopped_in_its_warm_up_has_no_measures(self) -> None:
        """It has no goodput, and is no error."""
        trimline.run({**INCAST, "warm_up": "500us"}, self.out)
        path = self.out / "seed-1/summary.json"
        summary = json.loads(path.read_text(encoding="utf-8"))
        summary |= {"measured_ps": 0, "simulated_ps": 0, "interrupted": True}
        path.write_text(json.dumps(summary), encoding="utf-8")
        (run,) = trimline.Results.read(self.out)
        names = measures(run)
        self.assertIn("time-outs", names)
        self.assertNotIn("goodput, all flows (Gb/s)", names)
        self.assertEqual(goodputs_gbps(run), [])
        self.assertEqual(run.ports["utilisation"].null_count(), len(run.ports))
        trimline.report(self.out, include_stopped=True)

    def test_a_folder_is_read_once(self) -> None:
        """Under whatever names; folders of two commands have two names."""
        trimline.run(INCAST, self.out / "a", seeds="1..2")
        (self.out / "b").symlink_to(self.out / "a")
        folders = [self.out / "a", self.out / "a/../a", self.out / "b", self.out / "a/seed-1"]
        self.assertEqual(len(trimline.Results.read(*folders)), 2)
        runs = [results.Origin(Path(f"/x/{name}"), Path("/x"), name) for name in ("a", "a/runs")]
        self.assertEqual(set(results.origins(runs).values()), {"a", "a/runs"})

    def test_a_manifest_describes_the_run(self) -> None:
        """One that does not is named."""
        trimline.run(INCAST, self.out)
        path = self.out / "seed-1/manifest.json"
        whole = json.loads(path.read_text(encoding="utf-8"))
        for key in ("run", "scenario_sha256", "point"):
            rest = {name: value for name, value in whole.items() if name != key}
            path.write_text(json.dumps(rest), encoding="utf-8")
            with self.assertRaisesRegex(trimline.MalformedResult, key):
                trimline.Results.read(self.out)

    def test_differences_of_times_and_counts_do_not_wrap(self) -> None:
        """A time less a later one is below zero."""
        flows = trimline.run(INCAST, self.out).flows.filter(workload="replies")
        for column in ("fct_receiver_ps", "ideal_fct_ps", "start_ps", "delivered_bytes", "trims"):
            below = flows.select(polars.col(column) - polars.col(column) - 1).to_series()
            self.assertEqual(set(below.drop_nulls()), {-1}, column)
        times = trimline.Results.read(self.out).queues["time_ps"]
        self.assertLess((times - times.max()).min(), 0)

    def test_a_partial_run_is_marked_and_in_no_mean(self) -> None:
        """In frames, groups, the table and the report; unless it is asked for."""
        trimline.run(INCAST, self.out, seeds="1..3")
        path = self.out / "seed-2/summary.json"
        whole = path.read_text(encoding="utf-8")
        cut = whole.replace('"interrupted": false', '"interrupted": true')
        path.write_text(cut, encoding="utf-8")
        results = trimline.Results.read(self.out)
        stopped = results.flows.filter(polars.col("interrupted"))["seed"]
        self.assertEqual(set(stopped), {2})
        self.assertEqual([run.seed for run in results.stopped], [2])
        self.assertEqual([run.seed for run in results.groups()[""]], [1, 3])
        self.assertEqual(len(results.groups(include_stopped=True)[""]), 3)
        self.assertEqual(set(table(results)["scenario seeds"]), {2})
        self.assertEqual(set(table(results, include_stopped=True)["scenario seeds"]), {3})
        self.assertIn("<td>stopped</td>", results._repr_html_())
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("Stopped before their end: scenario seed 2. They enter no number.", page)
        self.assertIn("seed-2 (stopped before its end)", page)
        page = trimline.report(self.out, include_stopped=True).read_text(encoding="utf-8")
        self.assertIn("They are in the numbers below.", page)


class Documented(InScratch):
    """The scripts of the documents."""

    def test_the_first_script_of_the_document_runs(self) -> None:
        """In a fresh folder that has the examples and nothing else."""
        root = Path(__file__).parents[2]
        text = (root / "docs/python.md").read_text(encoding="utf-8")
        script = []
        for line in text[text.index("    import polars") :].splitlines():
            if line and not line.startswith("    "):
                break
            script.append(line[4:])
        shutil.copytree(root / "examples", self.out / "examples")
        process = subprocess.run(
            [sys.executable, "-W", "error::UserWarning", "-c", "\n".join(script)],
            cwd=self.out,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue((self.out / "out/examples/incast/report.html").is_file())


class Reproduce(InScratch):
    """`trimline.reproduce`."""

    def test_reproductions_run_repeatedly(self) -> None:
        """The verdict and runs of the command, as often as one likes; Ctrl-C stays Python's."""
        handler = signal.getsignal(signal.SIGINT)
        for quick in (False, True):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                shown = trimline.reproduce("ndp/base", self.out, quick=quick)
            self.assertTrue(shown.holds)
            self.assertEqual((len(shown.findings), len(shown.results)), (4, 4))
            self.assertTrue(shown.figures[0].samefile(self.out / "ndp/base/ndp-base.png"))
            self.assertIn("30 packets, initial window 30", said.getvalue())
            self.assertEqual("quick tier" in said.getvalue(), quick)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_unknown_experiments_are_refused(self) -> None:
        """Refuses a paper and an unknown figure: neither is an experiment."""
        with self.assertRaisesRegex(ValueError, "'ndp' is no experiment"):
            trimline.reproduce("ndp", self.out)
        with self.assertRaisesRegex(RuntimeError, "ended with status 2"):
            trimline.reproduce("ndp/fig99", self.out)


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
            def run(self, scenario: trimline.Scenario, place: int) -> worker.Files | str:
                if place == 2 and not killed:
                    killed.append(self.process.pid)
                    self.process.kill()
                return super().run(scenario, place)

        with mock.patch.object(sweeping, "Worker", Doomed):
            trimline.sweep(INCAST, self.out / "pool", seeds="1..4", workers=2)
        self.assertEqual(len(killed), 1)
        trimline.run(INCAST, self.out / "here", seeds="1..4")
        self.assertEqual(files(self.out / "here"), files(self.out / "pool"))

    def test_a_run_that_kills_every_worker_is_given_up(self) -> None:
        """After three trials; the other runs have their results."""

        class Doomed(worker.Worker):
            def run(self, scenario: trimline.Scenario, place: int) -> worker.Files | str:
                if place == 1:
                    self.process.kill()
                return super().run(scenario, place)

        with (
            mock.patch.object(sweeping, "Worker", Doomed),
            self.assertRaisesRegex(trimline.SweepError, "1 of 3 runs failed, seed-2: .* died 3"),
        ):
            trimline.sweep(INCAST, self.out, seeds="1..3", workers=2)
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
        self.assertTrue(said.rstrip().endswith("KeyboardInterrupt"), said)
        self.assertNotIn("Exception in thread", said)
        self.assertIn(process.returncode, (1, -signal.SIGINT))
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                self.assertNotIn(mark.encode(), path.read_bytes(), path)
        for path in (self.out / "pool").iterdir():
            self.assertTrue((path / "manifest.json").is_file(), path)


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
        trimline.sweep(INCAST, self.out / "pool", seeds="1..50", workers=2)
        self.assertEqual(files(self.out / "dask"), files(self.out / "pool"))


class Compare(InScratch):
    """`trimline.compare` and the report."""

    def test_a_comparison_has_a_table_and_a_figure(self) -> None:
        """One column a transport, intervals over seeds."""
        scenario = {**INCAST, "workload": INCAST["workload"][:1]}
        short = {"settings": ["duration=2ms"], "seeds": [1, 2, 3], "workers": 2}
        compared = trimline.compare(scenario, ["ndp"], self.out, **short)
        self.assertEqual({run.summary["simulated_ps"] for run in compared.results}, {2 * 10**9})
        table = compared.table
        self.assertEqual(table.columns, ["measure", "ndp", "ndp ±", "ndp seeds"])
        self.assertEqual(table.dtypes[1:], [polars.Float64, polars.Float64, polars.Int64])
        rows = {row[0]: row[1:] for row in table.iter_rows()}
        self.assertEqual(rows["flows of a size, delivered (%)"], (100.0, 0.0, 3))
        self.assertIn("slowdown p99, 10–100 KB", rows)  # noqa: RUF001
        self.assertIn("utilisation, tor down (%)", rows)
        delivered = [line for line in str(compared).splitlines() if "delivered" in line]
        self.assertTrue(delivered[0].endswith("100 ± 0"), delivered)
        self.assertIn("<td>100 ± 0</td>", compared._repr_html_())
        for path in compared.draw():
            self.assertGreater(path.stat().st_size, 1000)
        # The axis of completion times ends where they do.
        figure = comparison.draw(compared.results)
        largest = max(ended(run)["fct_us"].max() for run in compared.results)
        self.assertLess(figure.axes[0].get_xlim()[1], 1.2 * largest)
        colours = {line.get_color() for line in figure.axes[0].lines}
        self.assertEqual(colours, {looks.PROTOCOLS["ndp"]})
        pyplot.close(figure)

    def test_a_comparison_ignores_the_series_of_the_scenario(self) -> None:
        """Only transports are compared, in the order that was asked for."""
        scenario: dict[str, Any] = {**INCAST, "output": {}}
        own = '[[series]]\nname = "a"\nswitch.profile = "p4"\n'
        inline = {**scenario, "series": [{"name": "a", "switch": {"profile": "p4"}}]}
        for name, source in (("text", tomli_w.dumps(scenario) + own), ("inline", inline)):
            out = self.out / name
            compared = trimline.compare(source, ["ndp", "dctcp"], out, workers=2)
            self.assertEqual(compared.table.columns[1::3], ["ndp", "dctcp"])
            self.assertEqual(sorted(path.name for path in out.iterdir()), ["dctcp", "ndp"])
        cells = set(compared.table["measure"])
        # Nobody asked for samples: the comparison does.
        for name in ("utilisation, core down (%)", "queue, tor down, mean (KB)", "time-outs"):
            self.assertIn(name, cells)
        with self.assertRaisesRegex(trimline.ScenarioError, "no transport 'n\"dp'"):
            with_series("", ['n"dp'])

    def test_schemes_are_compared_like_transports(self) -> None:
        """Built in or of the scenario; its own series are left out."""
        own = {"name": "mine", "like": "tcp", "switch": {"data_queue": "20pkt"}}
        scenario: dict[str, Any] = {**INCAST, "scheme": [own], "series": [{"name": "a"}]}
        names = ["hull", "ndp", "mine"]
        compared = trimline.compare(scenario, schemes=names, out=self.out / "schemes", workers=2)
        self.assertEqual(compared.table.columns[1::3], names)
        with self.assertRaisesRegex(trimline.ScenarioError, "no scheme `hul`.*nearest: hull"):
            trimline.compare(scenario, schemes=["hul"], out=self.out / "none")
        for wrong in ({}, {"schemes": names, "transports": ["ndp"]}):
            with self.assertRaisesRegex(trimline.ScenarioError, "expected one of the two"):
                trimline.compare(scenario, out=self.out / "none", **wrong)
        with self.assertRaisesRegex(trimline.ScenarioError, "timers of their own"):
            trimline.compare(scenario, schemes=names, timers="rfc")

    def test_timers_match_those_of_the_command(self) -> None:
        """A preset for those that have timers; slow ones beside none are warned of."""
        scenario = {**INCAST, "workload": INCAST["workload"][:1]}
        self.assertIn("transport.ndp = {}", with_series("", ["ndp"], "rfc"))
        with self.assertWarnsRegex(UserWarning, "dctcp has timers .*200ms"):
            slow = trimline.compare(scenario, ["ndp", "dctcp"], self.out / "a", workers=1)
        with warnings.catch_warnings(action="error"):
            fast = trimline.compare(
                scenario,
                ["ndp", "dctcp"],
                self.out / "b",
                workers=1,
                timers="datacenter",
                ignore_memory=True,
            )
        manifests = [result.manifest["plan_sha256"] for result in (*slow.results, *fast.results)]
        self.assertEqual(len(set(manifests)), 3)
        with self.assertRaisesRegex(trimline.ScenarioError, 'word "slow"'):
            trimline.compare(scenario, ["ndp", "tcp"], self.out / "c", timers="slow")

    def test_measures_match_the_tables(self) -> None:
        """Worked out from the rows, by hand."""
        run = trimline.run({**INCAST, "warm_up": "500us"}, self.out)[0]
        found = measures(run)
        rows = run.flows.filter(polars.col("fct_receiver_ps").is_not_null())
        times = sorted(rows["fct_receiver_ps"])
        self.assertAlmostEqual(found["FCT median (µs)"], times[(len(times) + 1) // 2 - 1] / 1e6)
        self.assertAlmostEqual(found["FCT p99 (µs)"], times[-1] / 1e6)
        goodput = run.flows["measured_bytes"].sum() * 8 / 500e-6 / 1e9
        self.assertAlmostEqual(found["goodput, all flows (Gb/s)"], goodput)
        late = run.queues.filter(layer="tor down").filter(polars.col("time_ps") > 500_000_000)
        self.assertEqual(len(late), 10)
        share = 100 * sum(late["utilisation"]) / 10
        self.assertAlmostEqual(found["utilisation, tor down (%)"], share)
        again = run.flows.select(polars.col("^retransmissions_.*$")).sum().row(0)
        part = 100 * sum(again) / run.flows["packets_sent"].sum()
        self.assertAlmostEqual(found["retransmitted (% of packets)"], part)

    def test_an_interval_names_missing_seeds(self) -> None:
        """Student's t; a number that not every seed has."""
        self.assertEqual(str(Measure.of([10.0, 20.0, 30.0])), "20 ± 24.8")
        self.assertEqual(str(Measure.of([10.0, None, 30.0])), "20 ± 127 (2 of 3 seeds)")
        self.assertEqual(str(Measure.of([None, 7.0])), "7 (1 of 2 seeds)")
        self.assertIsNone(Measure.of([None, None]))
        names = [size_name(0, 1000), size_name(1000, 10_000), size_name(1e5, 1e6)]
        self.assertEqual(names, ["≤ 1 KB", "1–10 KB", "100 KB–1 MB"])  # noqa: RUF001

    def test_points_of_a_sweep_are_separate(self) -> None:
        """A mean over seeds is not over senders; of many points some are drawn, all are numbers."""
        sweep = {**INCAST, "output": {}, "sweep": {}}
        places = {"workload": {"replies": {"incast": {"senders": {"from": 1, "to": 10}}}}}
        sweep["sweep"] = places
        results = trimline.run(sweep, self.out, seeds=[1, 2])
        groups = results.groups()
        self.assertEqual(list(groups), [f"senders={n}" for n in range(1, 11)])
        # As numbers, whatever the names of folders are.
        self.assertEqual(list(trimline.Results.read(self.out).groups()), list(groups))
        self.assertEqual({len(runs) for runs in groups.values()}, {2})
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("8 of these 10 are drawn", page)
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        over = [plot for plot in data if plot["x"] == "senders"]
        self.assertGreater(len(over), 2)
        # As numbers: 2 before 10.
        self.assertEqual({tuple(plot["ticks"]) for plot in over}, {tuple(map(str, range(1, 11)))})
        fct = next(plot for plot in over if plot["y"] == "FCT p99 (µs)")
        self.assertEqual(len(fct["data"]), 4)
        self.assertLess(fct["data"][1][0], fct["data"][1][9])
        numbers = page[: page.index("<h2>Flows</h2>")]
        self.assertEqual(numbers.count("<td>senders="), 10)

    def test_a_report_has_every_section(self) -> None:
        """One file: plots with their data, the network, packets, manifests; nothing to fetch."""
        trimline.run(INCAST, self.out, seeds=[1, 2])
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertNotIn("src=", page)
        self.assertEqual(page.count("<link"), 1)
        data = page.split('id="data">')[1].split("</script>")[0]
        plots = json.loads(data.replace("<\\/", "</"))
        self.assertGreater(len(plots), 5)
        for plot in plots:
            lengths = {len(column) for column in plot["data"]}
            self.assertEqual(len(lengths), 1)
            curves = len(plot["series"]) + 2 * plot.get("bands", 0)
            self.assertEqual(curves + 1, len(plot["data"]))
        self.assertEqual([plot["bands"] for plot in plots if "by rank" in plot["x"]], [1])
        self.assertIn('<svg class="topology"', page)
        self.assertIn('<svg class="sequence"', page)
        self.assertIn("scenario_sha256", page)
        # A second report is the same, but for the wall times in the manifests.
        self.assertEqual(page, trimline.report(self.out).read_text(encoding="utf-8"))

    def test_an_unnamed_counter_is_a_column_and_in_the_report(self) -> None:
        """The switch's list of counters is the only one."""
        trimline.run(INCAST, self.out)
        for name, last in (("ports.csv", "rate_bps"), ("series.csv", "data_queue_bytes_mean")):
            (path,) = self.out.rglob(name)
            lines = path.read_text(encoding="utf-8").splitlines()
            self.assertTrue(lines[0].endswith(last))
            longer = [f"{lines[0]},paused", *(f"{line},7" for line in lines[1:])]
            path.write_text("\n".join(longer) + "\n", encoding="utf-8")
        results = trimline.Results.read(self.out)
        for frame in (results.ports, results.queues):
            self.assertEqual(frame["paused"].dtype, polars.Int64)
            self.assertEqual(set(frame["paused"]), {7})
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("<th>paused</th>", page)
        self.assertIn("Packets paused in each interval", page)
        self.assertIn("<th>returned</th>", page)
        self.assertIn("<tr><td>tor down</td><td>", page)

    def test_a_transport_has_one_colour_and_one_name(self) -> None:
        """In the report as in figures; groups of one protocol differ all the same."""
        for order in (["ndp", "dctcp"], ["dctcp", "tcp", "ndp"]):
            found = looks.colours_of(order)
            self.assertEqual(found, {name: looks.PROTOCOLS[name] for name in order})
        both = looks.colours_of(["ndp senders=1", "ndp senders=2", "a: dctcp senders=1"])
        self.assertEqual(len(set(both.values())), 3)
        self.assertEqual(both["ndp senders=1"], looks.PROTOCOLS["ndp"])
        self.assertEqual(both["a: dctcp senders=1"], looks.PROTOCOLS["dctcp"])
        self.assertNotIn(both["ndp senders=2"], looks.PROTOCOLS.values())
        self.assertEqual(looks.label_of("a: dctcp senders=1"), "a: dctcp senders=1")
        self.assertEqual(looks.label_of(""), "scenario")
        self.assertEqual(looks.label_of("mine load=50%"), "mine load=50%")

    def test_link_changes_are_marked_in_plots(self) -> None:
        """At their time, in every plot over time."""
        fails = [{"at": "200us", "link": "tor 0 up 0", "change": "fail"}]
        trimline.run({**INCAST, "link_event": fails}, self.out)
        page = trimline.report(self.out).read_text(encoding="utf-8")
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        over = [plot["events"] for plot in data if plot["x"] == "Time (µs)"]
        self.assertGreater(len(over), 3)
        for events in over:
            self.assertEqual(events, [[200.0, "tor 0 up 0 and back fails"]])

    def test_waiting_packets_are_drawn(self) -> None:
        """A packet's line goes on while it is queued, and its number stands at it."""
        trimline.run(INCAST, self.out)
        drawn = drawings.sequence(trimline.Results.read(self.out)[0].timeline)
        self.assertGreater(drawn.count('class="waits"'), 5)
        self.assertGreater(drawn.count('class="number"'), 5)

    def test_a_large_network_is_not_drawn(self) -> None:
        """But said to be there."""
        trimline.run(INCAST, self.out)
        with mock.patch.object(reporting, "MAX_PORTS", 10):
            page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertNotIn('<svg class="topology"', page)
        self.assertIn("not drawn; ports.csv has its links", page)

    def test_a_folder_without_manifest_has_no_report(self) -> None:
        """A result of unknown origin is no result."""
        trimline.run(INCAST, self.out)
        (self.out / "seed-1/manifest.json").unlink()
        with self.assertRaisesRegex(trimline.MalformedResult, "no result"):
            trimline.report(self.out)


if __name__ == "__main__":
    unittest.main()
