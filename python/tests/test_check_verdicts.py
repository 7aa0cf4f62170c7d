"""The second judge of experiments: its rules on made-up runs."""

from __future__ import annotations

import importlib.util
import json
import tempfile
import tomllib
import unittest
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_verdicts.py"
COLUMNS = [
    "workload",
    "index",
    "source",
    "destination",
    "size_bytes",
    "start_ps",
    "fct_receiver_ps",
    "fct_sender_ps",
]
COLUMNS += ["measured_bytes", "delivered_bytes", "packets_sent", "trims", "returns"]
COLUMNS += ["retransmissions_signalled", "retransmissions_return", "retransmissions_timeout"]


def script() -> Any:
    """The script as a module: it is no part of the package."""
    spec = importlib.util.spec_from_file_location("check_verdicts", SCRIPT)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


JUDGE = script()


def run(series: str, seed: int, value: object, count: int = 1, **point: str) -> SimpleNamespace:
    """A run whose only finding, `f`, has this value."""
    exact = None if value is None else Fraction(str(value))
    return SimpleNamespace(
        series=series, seed=seed, point=point, count=count, interrupted=False, values={"f": exact}
    )


class Rules(unittest.TestCase):
    """Which runs a finding is about, and what of them counts."""

    def check(self, finding: dict, runs: list, ours: object, holds: bool) -> list:
        """The judge says this; gives the values by seed."""
        value, verdict, of_seeds = JUDGE.judge({"name": "f", **finding}, runs)
        self.assertEqual(value, None if ours is None else Fraction(str(ours)))
        self.assertEqual(verdict, holds)
        return of_seeds

    def test_places_of_a_sweep(self) -> None:
        """A number, a text, a range that is open at one end."""
        runs = [
            run("a", 1, v, window=w, queue=q) for v, w, q in [(1, "1", "6pkt"), (2, "15", "8pkt")]
        ]
        self.check({"hi": 9, "at": {"window": 15}}, runs, 2, True)
        self.check({"hi": 9, "at": {"window": {"to": 15}}}, runs, 2, True)
        self.check({"hi": 9, "at": {"window": {"to": 14}}}, runs, 1, True)
        self.check({"hi": 9, "at": {"window": {"from": 2}}}, runs, 2, True)
        self.check({"hi": 9, "at": {"queue": "6pkt"}}, runs, 1, True)
        self.check({"hi": 9, "at": {"queue": 6}}, runs, None, False)
        self.check({"hi": 9, "at": {"nothing": 1}}, runs, None, False)

    def test_spread_over_a_key(self) -> None:
        """Among runs that differ in this key alone: not across windows, seeds or series."""
        values = [("a", 1, 10, "1"), ("a", 1, 13, "1"), ("a", 1, 50, "2"), ("a", 1, 54, "2")]
        values += [("a", 2, 90, "1"), ("a", 2, 91, "1")]
        runs = [run(s, n, v, window=w, queue=str(i)) for i, (s, n, v, w) in enumerate(values)]
        finding = {"spread_over": "queue"}
        self.check(finding | {"hi": 4}, runs, 4, True)
        self.check(finding | {"hi": 3.9}, runs, 4, False)
        self.check(finding | {"hi": 4}, runs[:1], None, False)

    def test_against_another_series(self) -> None:
        """Percent above the run at the same place with the same seed."""
        runs = [run("b", 1, 100, size="1"), run("b", 1, 200, size="2"), run("b", 2, 50, size="2")]
        runs += [run("a", 1, 101, size="1"), run("a", 1, 199, size="2")]
        finding = {"series": "a", "against": "b"}
        self.check(finding | {"lo": -2, "hi": 2}, runs, 1, True)
        self.check(finding | {"hi": 0.9}, runs, 1, False)
        self.check(finding | {"hi": 2}, runs[1:], None, False)

    def test_each_seed_or_their_mean(self) -> None:
        """The value with the least room; the mean over seeds where the finding says so."""
        runs = [run("a", 1, 20), run("a", 2, 30)]
        self.check({"hi": 25}, runs, 30, False)
        self.check({"hi": 25, "over_seeds": "mean"}, runs, 25, True)
        self.check({"hi": 24.9, "over_seeds": "mean"}, runs, 25, False)
        self.check({"lo": 10, "hi": 31}, runs, 30, True)
        self.assertEqual(self.check({}, runs, 25, True), [20, 30])
        self.check({"hi": 99}, [*runs, run("a", 3, None)], None, False)
        self.check({"hi": 99, "flows_from": 2}, [*runs, run("a", 3, 7, count=2)], 7, True)

    def test_interval_over_seeds(self) -> None:
        """Student's t from its distribution, and an interval that is not that of the values."""
        table = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042}
        for degrees, quantile in table.items():
            self.assertAlmostEqual(JUDGE.student_t(degrees), quantile, delta=6e-4)
        values = [Fraction(n) for n in range(1, 6)]
        reported = {"mean": 3.0, "half_width": 1.962929, "count": 5}
        self.assertTrue(JUDGE.same_interval(values, reported))
        for wrong in ({"mean": 3.1}, {"half_width": 1.9}, {"half_width": 2.0}, {"count": 4}):
            self.assertFalse(JUDGE.same_interval(values, reported | wrong), wrong)
        self.assertFalse(JUDGE.same_interval(values, None))
        self.assertTrue(JUDGE.same_interval(values[:1], None))


class Measures(unittest.TestCase):
    """Numbers of one run, from its tables."""

    def setUp(self) -> None:
        """Two long-lived flows, a few counters, a timeline."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "runs/a/window=3,queue=6pkt/seed-4"
        self.folder.mkdir(parents=True)
        common = {
            "workload": "w",
            "index": 0,
            "destination": 0,
            "start_ps": 0,
            "trims": 6,
            "returns": 2,
        }
        common |= {"packets_sent": 100, "retransmissions_signalled": 3, "retransmissions_return": 2}
        common |= {"retransmissions_timeout": 1, "delivered_bytes": 45_000}
        flows = [
            common | {"source": s, "measured_bytes": b} for s, b in ((1, 500_000), (2, 250_000))
        ]
        self.write("flows", COLUMNS, [[row.get(c, "") for c in COLUMNS] for row in flows])
        ports = [["tor 0 up 1", 7, 3], ["tor 0 down 0", 400_000, 50], ["tor 0 down 1", 600_000, 0]]
        ports += [
            ["aggregation 0 up 0", 100, 1],
            ["aggregation 0 up 1", 300, 0],
            ["core 0 down 0", 9, 9],
        ]
        ports = [
            [*port, dropped] for port, dropped in zip(ports, (1, 2, 4, 8, 16, 32), strict=True)
        ]
        ports.append(["aggregation 0 down 3", 5, 0, 64])
        self.write("ports", ["name", "bytes", "trimmed", "dropped"], ports)
        quantiles = [["all", 500, 6_000_000], ["all", 1000, 9_000_000], ["later", 500, 7_000_000]]
        self.write("latencies", ["packets", "share_permille", "latency_ps"], quantiles)
        events = [
            [1, "", "p", "trim", "header", 0, 1],
            [2, 5, "p", "depart", "data", 0, 1],
            [3, 4, "h", "depart", "ack", 0, ""],
            [6, "", "p", "enqueue", "data", 1, 4],
            [7, "", "p", "enqueue", "header", 1, 2],
            [8, 9, "p", "depart", "data", 1, 3],
        ]
        columns = ["time_ps", "until_ps", "place", "event", "packet", "attempt", "queue_packets"]
        self.write("timeline", columns, events)
        summary = {"series": "a", "seed": 4, "simulated_ps": 10**9, "measured_ps": 10**9}
        summary |= {"packet_hops": 90, "path_removals": 5, "interrupted": False}
        (self.folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")

    def write(self, name: str, columns: list[str], lines: list) -> None:
        """One table."""
        text = "\n".join(",".join(str(cell) for cell in line) for line in [columns, *lines]) + "\n"
        (self.folder / f"{name}.csv").write_text(text, encoding="utf-8")

    def test_numbers(self) -> None:
        """Each measure, worked out by hand."""
        expected = {
            "mean_goodput_gbps": "3",
            "min_goodput_gbps": "2",
            "flows_of_3_to_5_5_gbps": "1",
            "fair_share_percent": "60",
            "worst_decile_fair_share_percent": "40",
            "worst_decile_below_mean_points": "20",
            "uplink_trim_percent": "2",
            "tor_up_trim_percent": "1.5",
            "past_tor_trim_percent": Fraction(6000, 197),
            "tor_down_drops": "6",
            "aggregation_down_drops": "64",
            "host_link_percent": "40",
            "least_core_link_percent": "50",
            "path_removals": "5",
            "retransmissions_per_packet": "1.2",
            "nack_retransmissions_per_packet": "0.6",
            "return_retransmissions_per_packet": "0.4",
            "nack_over_return": "1.5",
            "timeout_retransmissions_percent": "1",
            "returned_header_percent": "25",
            "hops_per_delivered_packet": "9",
            "median_latency_us": "6",
            "median_later_latency_us": "7",
            "max_latency_us": "9",
            "timeline_trims": "1",
            "timeline_idle_us": "0.000003",
            "timeline_low_us": "0",
            "retransmission_finds_packets": "3",
        }
        findings = [{"name": name, "measure": name} for name in expected]
        made = JUDGE.Run(self.folder, findings)
        self.assertEqual(made.point, {"window": "3", "queue": "6pkt"})
        for name, value in expected.items():
            self.assertEqual(made.values[name], Fraction(value), name)

    def test_quantiles_of_times(self) -> None:
        """By nearest rank; a flow that did not end is slower than all that did."""
        flows = [{"fct_receiver_ps": each} for each in ("3000000", "1000000", "", "2000000")]
        self.assertEqual(JUDGE.fct_us(flows, 50), 2)
        self.assertIsNone(JUDGE.fct_us(flows, 99))
        self.assertEqual(JUDGE.fct_us(flows[:2], 99), 3)

    def test_of_one_place(self) -> None:
        """A timeline's measures may be of one place."""
        of = {"timeline_trims": 0, "timeline_idle_us": 0, "retransmission_finds_packets": None}
        findings = [{"name": name, "measure": name, "place": "h"} for name in of]
        self.assertEqual(JUDGE.Run(self.folder, findings).values, of)

    def test_every_measure_of_the_experiments_is_known(self) -> None:
        """No expected.toml asks for what the second judge cannot say."""
        experiments = SCRIPT.parents[1] / "experiments"
        names = set()
        for path in sorted(experiments.glob("*/*/expected.toml")):
            findings = tomllib.loads(path.read_text(encoding="utf-8"))["finding"]
            names |= {finding["measure"] for finding in findings}
        self.assertGreater(len(names), 15)
        for name in names:
            JUDGE.Run(self.folder, [{"name": "f", "measure": name}])


if __name__ == "__main__":
    unittest.main()
