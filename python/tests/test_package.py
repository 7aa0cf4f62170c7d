"""The package as a user calls it: run, sweep, read, compare, report."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import polars
import tomli_w

import trimline
from tests import skip
from trimline import reporting, running, sweeping, worker
from trimline.comparison import Measure, measures, size_name, with_series

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


def files(folder: Path) -> dict[str, bytes]:
    """What must repeat: every file but the manifest, which has the wall time."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in found
        if path.name not in ("manifest.json", "report.html")
    }


def setUpModule() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would what is tested here."""
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

    def test_frames(self) -> None:
        """Flows, links and queues are polars frames with the run's keys in front."""
        results = trimline.run(INCAST, self.out, seeds=[1, 2])
        self.assertEqual([run.seed for run in results], [1, 2])
        flows = results.flows
        self.assertEqual(flows.columns[:3], ["series", "seed", "workload"])
        self.assertEqual(len(flows), 2 * (10 + 16))
        long = flows.filter(polars.col("size_bytes").is_null())
        self.assertEqual(len(long), 32)
        self.assertEqual(long["fct_receiver_ps"].null_count(), 32)
        down = results.links.filter(polars.col("name") == "tor 0 down 0")
        self.assertTrue((down["utilisation"] > 0.9).all(), down)
        self.assertTrue((results.links["utilisation"] <= 1.01).all())
        layers = set(results.queues["layer"].cast(str))
        self.assertEqual(len(layers), 5)
        self.assertGreater(results[0].timeline.filter(event="trim").height, 0)

    def test_mistakes_name_line_and_word(self) -> None:
        """A mistake in a dictionary is told as one in a file."""
        with self.assertRaisesRegex(
            trimline.ScenarioError, r"scenario:\d+:\d+: unknown key `toplogy`"
        ):
            trimline.run({**INCAST, "toplogy": {}}, self.out)
        with self.assertRaisesRegex(trimline.ScenarioError, "--set:1:1: unknown key"):
            trimline.run(INCAST, self.out, settings=["colour=1"])
        self.assertEqual(list(self.out.iterdir()), [])

    def test_resume_does_nothing_again(self) -> None:
        """A result that is there stays as it is."""
        trimline.run(INCAST, self.out)
        before = (self.out / "manifest.json").read_bytes()
        trimline.run(INCAST, self.out, resume=True)
        self.assertEqual((self.out / "manifest.json").read_bytes(), before)
        trimline.run(INCAST, self.out)
        self.assertNotEqual((self.out / "manifest.json").read_bytes(), before)

    def test_the_interpreter_is_free_and_interrupts_are_heard(self) -> None:
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

    def test_progress_is_told(self) -> None:
        """A line with the share and the rate."""
        lines: list[str] = []
        teller = running.Teller("a", 0, 2, lines.append)
        self.assertTrue(teller(500_000_000, 1_000_000_000, 10**6, 3, 4))
        self.assertIn("a (1 of 2): 0.500 ms simulated, 50%", lines[0])


class Reproduce(InScratch):
    """`trimline.reproduce`."""

    def test_one_after_the_other(self) -> None:
        """The verdict and runs of the command, as often as one likes; Ctrl-C stays Python's."""
        handler = signal.getsignal(signal.SIGINT)
        for quick in (False, True):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                shown = trimline.reproduce("ndp/base", self.out, quick=quick)
            self.assertTrue(shown.holds)
            self.assertEqual((len(shown.findings), len(shown.results), shown.figures), (4, 4, ()))
            self.assertIn("30 packets, initial window 30", said.getvalue())
            self.assertEqual("quick tier" in said.getvalue(), quick)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_misuse(self) -> None:
        """A paper is no experiment; neither is a figure that nobody has."""
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
        """Of fifty seeds some were done; they are not done again, and all are the same bytes."""
        script = (
            "import json, sys, trimline\n"
            "trimline.sweep(json.loads(sys.argv[1]), sys.argv[2], seeds='1..50', workers=2)\n"
        )
        words = [sys.executable, "-c", script, json.dumps(INCAST), str(self.out / "pool")]
        process = subprocess.Popen(words)
        while len(list(self.out.rglob("manifest.json"))) < 5:
            time.sleep(0.01)
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

    def test_an_interrupt_ends_workers_and_leaves_finished_runs_alone(self) -> None:
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
            while len(list(self.out.rglob("manifest.json"))) < 5:
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

    def test_fifty_seeds_on_a_cluster_are_those_of_the_pool(self) -> None:
        """The same bytes, also when a worker is killed in the middle."""
        try:
            from distributed import LocalCluster  # noqa: PLC0415
        except ImportError:
            skip(self, "distributed is not installed")
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            victim = next(iter(cluster.workers.values())).process.process.pid

            def kill() -> None:
                while len(list(self.out.rglob("manifest.json"))) < 5:
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

    def test_a_table_and_a_figure(self) -> None:
        """One column a transport, intervals over seeds."""
        scenario = {**INCAST, "workload": INCAST["workload"][:1]}
        compared = trimline.compare(scenario, ["ndp"], self.out, seeds=[1, 2, 3], workers=2)
        table = compared.table
        self.assertEqual(table.columns, ["measure", "ndp"])
        cells = dict(table.iter_rows())
        self.assertEqual(cells["flows of a size, delivered (%)"], "100 ± 0")
        self.assertIn("slowdown p99, 10–100 KB", cells)  # noqa: RUF001
        self.assertIn("utilisation, tor down (%)", cells)
        for path in compared.draw():
            self.assertGreater(path.stat().st_size, 1000)

    def test_the_own_series_of_a_scenario_are_left_out(self) -> None:
        """Only transports are compared, in the order that was asked for."""
        scenario: dict[str, Any] = {**INCAST, "output": {}}
        own = '[[series]]\nname = "a"\nswitch.profile = "p4"\n'
        inline = {**scenario, "series": [{"name": "a", "switch": {"profile": "p4"}}]}
        for name, source in (("text", tomli_w.dumps(scenario) + own), ("inline", inline)):
            out = self.out / name
            compared = trimline.compare(source, ["ndp", "dctcp"], out, workers=2)
            self.assertEqual(compared.table.columns, ["measure", "ndp", "dctcp"])
            self.assertEqual(sorted(path.name for path in out.iterdir()), ["dctcp", "ndp"])
        cells = set(compared.table["measure"])
        # Nobody asked for samples: the comparison does.
        for name in ("utilisation, core down (%)", "queue, tor down, mean (KB)", "time-outs"):
            self.assertIn(name, cells)
        with self.assertRaisesRegex(trimline.ScenarioError, "no transport 'n\"dp'"):
            with_series("", ['n"dp'])

    def test_measures_are_those_of_the_tables(self) -> None:
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

    def test_an_interval_says_when_seeds_are_missing(self) -> None:
        """Student's t; a number that not every seed has."""
        self.assertEqual(str(Measure.of([10.0, 20.0, 30.0])), "20 ± 24.8")
        self.assertEqual(str(Measure.of([10.0, None, 30.0])), "20 ± 127 (2 of 3 seeds)")
        self.assertEqual(str(Measure.of([None, 7.0])), "7 (1 of 2 seeds)")
        self.assertIsNone(Measure.of([None, None]))
        names = [size_name(0, 1000), size_name(1000, 10_000), size_name(1e5, 1e6)]
        self.assertEqual(names, ["≤ 1 KB", "1–10 KB", "100 KB–1 MB"])  # noqa: RUF001

    def test_points_of_a_sweep_are_apart(self) -> None:
        """A mean over seeds is not over senders; of many points some are drawn, all are numbers."""
        sweep = {**INCAST, "output": {}, "sweep": {}}
        places = {"workload": {"replies": {"incast": {"senders": {"from": 1, "to": 10}}}}}
        sweep["sweep"] = places
        results = trimline.run(sweep, self.out, seeds=[1, 2])
        groups = results.groups()
        self.assertEqual(list(groups), [f"senders={n}" for n in range(1, 11)])
        self.assertEqual({len(runs) for runs in groups.values()}, {2})
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("8 of these 10 are drawn", page)
        self.assertEqual(page.count("<td>senders="), 10)

    def test_a_report_holds_everything(self) -> None:
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
            self.assertEqual(len(plot["series"]) + 1, len(plot["data"]))
        self.assertIn('<svg class="topology"', page)
        self.assertIn('<svg class="sequence"', page)
        self.assertIn("scenario_sha256", page)
        # A second report is the same, but for the wall times in the manifests.
        self.assertEqual(page, trimline.report(self.out).read_text(encoding="utf-8"))

    def test_a_counter_that_nobody_here_names_is_a_column_and_in_the_report(self) -> None:
        """The switch's list of counters is the only one."""
        trimline.run(INCAST, self.out)
        for name, last in (("ports.csv", "rate_bps"), ("series.csv", "queue_bytes_max")):
            (path,) = self.out.rglob(name)
            lines = path.read_text(encoding="utf-8").splitlines()
            self.assertTrue(lines[0].endswith(last))
            longer = [f"{lines[0]},paused", *(f"{line},7" for line in lines[1:])]
            path.write_text("\n".join(longer) + "\n", encoding="utf-8")
        results = trimline.Results.read(self.out)
        for frame in (results.links, results.queues):
            self.assertEqual(frame["paused"].dtype, polars.UInt64)
            self.assertEqual(set(frame["paused"]), {7})
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("<th>paused</th>", page)
        self.assertIn("Packets paused in each interval", page)
        self.assertIn("<th>returned</th>", page)

    def test_a_large_network_is_not_drawn(self) -> None:
        """But said to be there."""
        trimline.run(INCAST, self.out)
        with mock.patch.object(reporting, "MOST_PORTS", 10):
            page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertNotIn('<svg class="topology"', page)
        self.assertIn("not drawn; ports.csv has its links", page)

    def test_without_a_manifest_nothing_is_reported(self) -> None:
        """A result that nobody could say the origin of is none."""
        trimline.run(INCAST, self.out)
        (self.out / "manifest.json").unlink()
        with self.assertRaisesRegex(trimline.MalformedResult, "no result"):
            trimline.report(self.out)


if __name__ == "__main__":
    unittest.main()
