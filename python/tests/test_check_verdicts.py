"""The second judge of experiments: its rules on made-up runs."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import tomllib
import unittest
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "scripts"
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
COLUMNS += ["ideal_fct_ps", "measured_bytes", "packets_sent", "trims", "returns", "timeouts"]
COLUMNS += ["retransmissions_signalled", "retransmissions_return", "retransmissions_timeout"]


def script(name: str) -> Any:
    """A script as a module: it is no part of the package."""
    file = SCRIPTS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The one uses the other.
sys.path.insert(0, str(SCRIPTS))
JUDGE = script("check_verdicts")
MEASURES = script("verdict_measures")


def run(series: str, seed: int, value: object, count: int = 1, **point: str) -> SimpleNamespace:
    """A run whose only finding, `f`, has this value."""
    exact = None if value is None else Fraction(str(value))
    return SimpleNamespace(
        series=series, seed=seed, point=point, count=count, interrupted=False, values={"f": exact}
    )


class Rules(unittest.TestCase):
    """The runs that a finding is about, and their values that count."""

    def check(self, finding: dict, runs: list, ours: object, holds: bool) -> list:
        """The judge says this; gives the values by seed."""
        value, verdict, of_seeds = JUDGE.judge({"name": "f", **finding}, runs)
        self.assertEqual(value, None if ours is None else Fraction(str(ours)))
        self.assertEqual(verdict, holds)
        return of_seeds

    def test_points_of_a_sweep_are_selected(self) -> None:
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

    def test_a_spread_over_a_key_is_judged(self) -> None:
        """Among runs that differ in this key alone: not across windows, seeds or series."""
        values = [("a", 1, 10, "1"), ("a", 1, 13, "1"), ("a", 1, 50, "2"), ("a", 1, 54, "2")]
        values += [("a", 2, 90, "1"), ("a", 2, 91, "1")]
        runs = [run(s, n, v, window=w, queue=str(i)) for i, (s, n, v, w) in enumerate(values)]
        finding = {"spread_over": "queue"}
        self.check(finding | {"hi": 4}, runs, 4, True)
        self.check(finding | {"hi": 3.9}, runs, 4, False)
        self.check(finding | {"hi": 4}, runs[:1], None, False)

    def test_a_straight_line_over_a_key_is_judged(self) -> None:
        """The share of the variance that a line over the numbers of the key explains."""
        places = ["6pkt", "8pkt", "12pkt"]
        straight = [run("a", 1, v, queue=q) for v, q in zip([10, 20, 40], places, strict=True)]
        bent = [run("a", 1, v, queue=q) for v, q in zip([10, 40, 40], places, strict=True)]
        finding = {"linear_over": "queue", "lo": 0.9}
        self.check(finding, straight, 1, True)
        self.check(finding, bent, Fraction(4, 7), False)
        self.check(finding, straight[:2], None, False)

    def test_a_series_is_judged_against_another(self) -> None:
        """Percent above the run at the same place with the same seed."""
        runs = [run("b", 1, 100, size="1"), run("b", 1, 200, size="2"), run("b", 2, 50, size="2")]
        runs += [run("a", 1, 101, size="1"), run("a", 1, 199, size="2")]
        finding = {"series": "a", "against": "b"}
        self.check(finding | {"lo": -2, "hi": 2}, runs, 1, True)
        self.check(finding | {"hi": 0.9}, runs, 1, False)
        self.check(finding | {"hi": 2}, runs[1:], None, False)

    def test_each_seed_or_their_mean_is_judged(self) -> None:
        """The value with the least room; the mean over seeds where the finding says so."""
        runs = [run("a", 1, 20), run("a", 2, 30)]
        self.check({"hi": 25}, runs, 30, False)
        self.check({"hi": 25, "over_seeds": "mean"}, runs, 25, True)
        self.check({"hi": 24.9, "over_seeds": "mean"}, runs, 25, False)
        self.check({"hi": 20, "over_seeds": "min"}, runs, 20, True)
        self.check({"hi": 19, "over_seeds": "min"}, runs, 20, False)
        self.check({"lo": 30, "over_seeds": "max"}, runs, 30, True)
        self.check({"lo": 31, "over_seeds": "max"}, runs, 30, False)
        self.check({"lo": 10, "hi": 31}, runs, 30, True)
        self.assertEqual(self.check({}, runs, 25, True), [20, 30])
        self.check({"hi": 99}, [*runs, run("a", 3, None)], None, False)
        self.check({"hi": 99, "flows_from": 2}, [*runs, run("a", 3, 7, count=2)], 7, True)

    def test_a_baseline_that_misses_too_is_named(self) -> None:
        """Theirs must be beyond the same bound; without `baseline` the reference speaks for it."""
        bounds: dict = {"lo": 3.0, "hi": 9.0}
        for baseline, ours, missed in (
            ({"from": 8.0, "to": 9.5}, 10, "as-baseline"),
            ({"from": 8.0, "to": 9.0}, 10, "both"),
            ({"value": 2.0}, 10, "both"),
            ({"value": 2.0}, 1, "as-baseline"),
            ({"none": "why"}, 1, "no-program"),
        ):
            finding = bounds | {"baseline": baseline}
            self.assertEqual(JUDGE.missed_by(finding, Fraction(ours)), missed)
        self.assertEqual(JUDGE.missed_by(bounds, Fraction(1)), None)
        for ours in (Fraction(1), None):
            self.assertEqual(JUDGE.missed_by(bounds | {"cause": "why"}, ours), "cause-known")
            known = bounds | {"cause": "why", "baseline": {"none": "why"}}
            self.assertEqual(JUDGE.missed_by(known, ours), "no-program" if ours else "cause-known")
        self.assertEqual(JUDGE.missed_by(bounds | {"reference": 5.0}, Fraction(1)), "both")
        measured = {"baseline": {"value": 2.0}}
        self.assertTrue(JUDGE.same_baseline(measured, {"from": 2.0, "to": 2.0}))
        self.assertFalse(JUDGE.same_baseline(measured, {"from": 2.0, "to": 2.5}))
        self.assertFalse(JUDGE.same_baseline(measured, None))
        self.assertTrue(JUDGE.same_baseline({"reference": 1.0}, None))

    def test_a_sign_is_one_bound_at_zero_of_a_comparison(self) -> None:
        """A bound of zero on a number of its own asks for zero, and not for a sign."""
        self.assertTrue(JUDGE.is_sign({"against": "b", "hi": 0.0}))
        self.assertTrue(JUDGE.is_sign({"against": "b", "lo": 0}))
        self.assertFalse(JUDGE.is_sign({"hi": 0}))
        self.assertFalse(JUDGE.is_sign({"against": "b", "hi": -1}))
        self.assertFalse(JUDGE.is_sign({"against": "b", "lo": 0, "hi": 0}))

    def test_an_interval_over_seeds_is_computed(self) -> None:
        """Computes Student's t from its distribution; refuses an interval of other values."""
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
        common |= {"retransmissions_timeout": 1, "timeouts": 0}
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
        ports = [[*port, 10**10] for port in ports]
        self.write("ports", ["name", "bytes", "trimmed", "dropped", "rate_bps"], ports)
        samples = [
            [10**7, "tor down", "0.5", "4000.0", 8000],
            [2 * 10**7, "tor down", "1.0", "1.5", 3],
        ]
        samples += [[10**7, "tor up", "0.1", "9000.0", 9000]]
        columns = ["time_ps", "layer", "utilisation", "queue_bytes_mean", "queue_bytes_max"]
        self.write("series", columns, samples)
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
        summary |= {"packet_hops": 90, "packets_delivered": 10, "interrupted": False}
        summary |= {"path_removals": 5, "path_restorations": 0}
        (self.folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        link = {"rate_bps": 10**10, "payload_bytes": 9000, "header_bytes": 64}
        self.link(link)

    def write(self, name: str, columns: list[str], lines: list) -> None:
        """One table."""
        text = "\n".join(",".join(str(cell) for cell in line) for line in [columns, *lines]) + "\n"
        (self.folder / f"{name}.csv").write_text(text, encoding="utf-8")

    def link(self, link: dict) -> None:
        """The links of hosts, as the manifest says them."""
        text = json.dumps({"host_link": link})
        (self.folder / "manifest.json").write_text(text, encoding="utf-8")

    def values(self, measures: list[str]) -> list:
        """The numbers of the run, of measures as expected.toml writes them."""
        findings = [
            {"name": text, "measure": tomllib.loads(f"measure = {text}")["measure"]}
            for text in measures
        ]
        made = JUDGE.Run(self.folder, findings)
        self.assertEqual(made.point, {"window": "3", "queue": "6pkt"})
        return [made.values[text] for text in measures]

    def check(self, expected: dict[str, object]) -> None:
        """Each measure has this number, to the last digit."""
        for (text, number), value in zip(
            expected.items(), self.values(list(expected)), strict=True
        ):
            self.assertEqual(value, None if number is None else Fraction(str(number)), text)

    def test_a_mean_of_groups_is_weighted_by_flows(self) -> None:
        """Each receiver, each class of sizes, or both: a group counts as often as it has flows."""
        flows = [
            {
                "destination": to,
                "size_bytes": str(size),
                "fct_receiver_ps": fct,
                "ideal_fct_ps": 100,
            }
            for to, size, fct in (
                (1, 500, 100),
                (1, 1000, 300),
                (1, 1001, 500),
                (2, 9000, 200),
                (2, 9001, 400),
                (2, 600, 700),
            )
        ]
        for groups, sum_of in (
            ({"receivers": True}, 3 * 5 + 3 * 7),
            ({"sizes_up_to": [1000, 5000]}, 3 * 7 + 3 * 5),
            ({"receivers": True, "sizes_up_to": [1000, 9000]}, 2 * 3 + 5 + 2 * 4 + 7),
        ):
            measure = {"quantity": "slowdown", "reduce": "p99", "groups": groups}
            self.assertEqual(MEASURES.of_flows(measure, None, flows), Fraction(sum_of, 6))
        refused = {"quantity": "slowdown", "reduce": "p99", "groups": {"senders": True}}
        self.assertRaises(MEASURES.Refused, MEASURES.of_flows, refused, None, flows)

    def test_query_completion_times_are_measured(self) -> None:
        """A query ends with its last answer; one that never came is the slowest."""

        def last(reduce: str, *answers: tuple[int, int, str]) -> Fraction | None:
            flows = [
                {"destination": to, "start_ps": start, "fct_receiver_ps": fct}
                for to, start, fct in answers
            ]
            measure = {
                "quantity": "query_completion",
                "workload": "w",
                "reduce": reduce,
                "unit": "ps",
            }
            return MEASURES.of_queries(measure, flows)

        answers = [(1, 5, "10"), (1, 5, "30"), (1, 7, "20"), (2, 5, "50")]
        self.assertEqual(last("p50", *answers), 30)
        self.assertEqual(last("mean", *answers), Fraction(100, 3))
        answers[0] = (1, 5, "")
        self.assertEqual(last("p50", *answers), 50)
        self.assertIsNone(last("p90", *answers))

    def test_flows_are_selected(self) -> None:
        """Goodputs of 4 and 2 Gb/s, and what is counted of flows, worked out by hand."""
        up = '{ layer = "tor", direction = "up" }'
        trims = 'quantity = "port_trimmed", per = "packet_sent", unit = "%"'
        again = 'quantity = "retransmissions"'
        self.check(
            {
                '{ quantity = "goodput", reduce = "mean", unit = "Gb/s" }': 3,
                '{ quantity = "goodput", reduce = "min", unit = "Mb/s" }': 2000,
                '{ quantity = "goodput", reduce = "mean", unit = "% of the host link" }': 30,
                '{ quantity = "goodput", reduce = "sum", pair = [2, 0], unit = "Gb/s" }': 2,
                '{ quantity = "goodput", reduce = "max", workload = "x", unit = "Gb/s" }': None,
                '{ quantity = "goodput", reduce = "max_over_min" }': 2,
                '{ quantity = "goodput", reduce = "jain" }': 0.9,
                '{ quantity = "goodput", reduce = "count", unit = "Gb/s",'
                " within = { from = 3.0, to = 5.5 } }": 1,
                '{ quantity = "fair_share", reduce = "mean" }': 60,
                '{ quantity = "fair_share", reduce = "lowest_tenth" }': 40,
                '{ quantity = "fair_share", reduce = "mean_less_lowest_tenth" }': 20,
                f"{{ {trims}, ports = {up} }}": 1.5,
                f"{{ {trims}, beyond = {up} }}": Fraction(6000, 197),
                '{ quantity = "path_removals" }': 5,
                '{ quantity = "retransmissions", per = "packet_delivered" }': 1.2,
                f'{{ {again}, cause = "signalled", per = "packet_delivered" }}': 0.6,
                '{ quantity = "retransmissions", cause = "signalled", per = "return" }': 1.5,
                f'{{ {again}, cause = "timeout", per = "packet_sent", unit = "%" }}': 1,
                '{ quantity = "headers_returned", per = "header", unit = "%" }': 25,
                '{ quantity = "hops", per = "packet_delivered" }': 9,
                '{ quantity = "hops", unit = "thousand" }': 0.09,
            }
        )

    def test_links_between_switches_are_measured(self) -> None:
        """At 100 Gb/s the same goodputs are a tenth of the shares."""
        self.link({"rate_bps": 10**11, "payload_bytes": 1500, "header_bytes": 64})
        self.check(
            {
                '{ quantity = "goodput", reduce = "mean", unit = "% of the host link" }': 3,
                '{ quantity = "fair_share", reduce = "mean" }': 6,
            }
        )
        flow = {"size_bytes": "15000", "start_ps": "0", "destination": "0", "workload": "w"}
        flow |= {"ideal_fct_ps": str(10 * 125_120 + 2_000_000), "source": "1"}
        flows = [
            flow | {"fct_receiver_ps": str(each)} for each in (4_000_000, 20 * 125_120 + 2_000_000)
        ]
        run = SimpleNamespace(link_bps=10**11, payload_bytes=1500, header_bytes=64, flows=flows)
        self.assertEqual(MEASURES.incast_overhead(run, flows), 0)
        flows[1]["fct_receiver_ps"] = ""
        self.assertIsNone(MEASURES.incast_overhead(run, flows))
        flows[1] |= {"fct_receiver_ps": "9", "destination": "7"}
        self.assertIsNone(MEASURES.incast_overhead(run, flows))

    def test_ports_and_packets_are_counted(self) -> None:
        """Reads ports.csv, latencies.csv, timeline.csv and series.csv."""
        down = '{ layer = "tor", direction = "down" }'
        core = '[{ layer = "aggregation", direction = "up" }, { layer = "core" }]'
        self.check(
            {
                f'{{ quantity = "port_dropped", ports = {down}, reduce = "sum" }}': 6,
                '{ quantity = "port_dropped", ports = { layer = "aggregation", link = 3 },'
                ' reduce = "max" }': 64,
                f'{{ quantity = "utilisation", ports = {down}, reduce = "mean" }}': 40,
                f'{{ quantity = "utilisation", ports = {down}, reduce = "max" }}': 48,
                f'{{ quantity = "port_bytes", ports = {core}, reduce = "min_of_switch" }}': 50,
                '{ quantity = "latency", packets = "all", reduce = "p50", unit = "us" }': 6,
                '{ quantity = "latency", packets = "later", reduce = "p50", unit = "ns" }': 7000,
                '{ quantity = "latency", packets = "all", reduce = "max", unit = "us" }': 9,
                '{ quantity = "events", event = "trim" }': 1,
                '{ quantity = "events", event = "trim", place = "h" }': 0,
                '{ quantity = "idle_time", reduce = "max", unit = "ps" }': 3,
                '{ quantity = "idle_time", reduce = "max", unit = "us", place = "h" }': 0,
                '{ quantity = "low_time", interval_us = 100, below_percent = 90, unit = "us" }': 0,
                '{ quantity = "queue_found", reduce = "min" }': 3,
                '{ quantity = "queue_found", reduce = "min", place = "h" }': None,
                f'{{ quantity = "queue", ports = {down}, reduce = "max", unit = "KB" }}': 4,
                f'{{ quantity = "fullest_queue", ports = {down}, from_us = 11, reduce = "max",'
                ' unit = "B" }': 3,
                f'{{ quantity = "sampled_utilisation", ports = {down}, reduce = "mean" }}': 75,
            }
        )

    def test_quantiles_of_times_are_measured(self) -> None:
        """By nearest rank; a flow that did not end is slower than all that did."""
        times = ["3000000", "1000000", "", "2000000"]
        flows = [{"fct_receiver_ps": each, "ideal_fct_ps": "500000"} for each in times]
        fct = {"quantity": "fct", "at": "receiver", "unit": "us"}

        def of(how: str, flows: list, measure: dict = fct) -> Fraction | None:
            value = MEASURES.of_flows(measure | {"reduce": how}, SimpleNamespace(link_bps=1), flows)
            return None if value is None else Fraction(value)

        self.assertEqual(of("p50", flows), 2)
        self.assertEqual(of("p50.01", flows), 3)
        self.assertIsNone(of("p99", flows))
        self.assertIsNone(of("mean", flows))
        self.assertEqual(of("p99.99", flows[:2]), 3)
        self.assertEqual(of("max", flows[:2], {"quantity": "slowdown"}), 6)
        self.assertEqual(of("share", flows, {"quantity": "fct", "at": "receiver"}), 75)

    def test_flows_are_selected_by_size_and_start(self) -> None:
        """Which flows a measure is of."""
        flow = {"workload": "w", "source": "1", "destination": "2", "start_ps": "5000000"}
        flow |= {"size_bytes": "10000"}
        for measure, taken in (
            ({"size_bytes": {"below": 10_000}}, False),
            ({"size_bytes": {"from": 10_000}}, True),
            ({"started_before_us": 5}, False),
            ({"started_before_us": 6}, True),
            ({"pair": [2, 1]}, False),
        ):
            self.assertEqual(JUDGE.is_selected(flow, measure), taken, measure)
        self.assertFalse(JUDGE.is_selected(flow | {"size_bytes": ""}, {"size_bytes": {"from": 0}}))

    def test_an_unknown_measure_is_refused(self) -> None:
        """A new quantity, key, name or range is no reason to compute something else."""
        for text in (
            '{ quantity = "speed" }',
            '{ quantity = "fct", at = "switch", reduce = "max", unit = "us" }',
            '{ quantity = "fct", at = "receiver", reduce = "max", unit = "fortnights" }',
            '{ quantity = "fct", at = "receiver", reduce = "sum", unit = "us" }',
            '{ quantity = "goodput", reduce = "max", unit = "Gb/s", colour = "red" }',
            '{ quantity = "goodput", reduce = "most", unit = "Gb/s" }',
            '{ quantity = "goodput", reduce = "jain", unit = "Gb/s" }',
            '{ quantity = "goodput", reduce = "max", unit = "Gb/s", within = { from = 1 } }',
            '{ quantity = "goodput", reduce = "max", unit = "Gb/s", size_bytes = { to = 1 } }',
            '{ quantity = "path_removals", pair = [1, 0] }',
            '{ quantity = "port_trimmed", ports = { tier = 1 }, reduce = "sum" }',
            '{ quantity = "port_trimmed", workload = "w", reduce = "sum" }',
            '{ quantity = "port_trimmed", per = "packet_sent", reduce = "sum" }',
            '{ quantity = "retransmissions", cause = "fate" }',
            '{ quantity = "latency", packets = "all", reduce = "mean", unit = "us" }',
            '{ quantity = "latency", packets = "all", reduce = "p99.99", unit = "us" }',
            '{ quantity = "events", event = "explode" }',
            '{ quantity = "queue", reduce = "max", unit = "B" }',
        ):
            with self.assertRaises(SystemExit, msg=text) as caught:
                self.values([text])
            self.assertIn("measure not known", str(caught.exception))

    def test_every_measure_of_the_experiments_is_known(self) -> None:
        """No expected.toml asks for what the second judge cannot say."""
        experiments = SCRIPTS.parent / "experiments"
        measures = []
        for path in sorted(experiments.glob("ndp/*/expected.toml")):
            findings = tomllib.loads(path.read_text(encoding="utf-8"))["finding"]
            measures += [finding["measure"] for finding in findings]
        self.assertGreater(len({measure["quantity"] for measure in measures}), 12)
        for measure in measures:
            JUDGE.Run(self.folder, [{"name": "f", "measure": measure}])


if __name__ == "__main__":
    unittest.main()
