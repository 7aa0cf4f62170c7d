"""Figures over sweeps and of packets, from made-up results: each is drawn, and its bytes repeat."""

from __future__ import annotations

import csv
import json
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from trimline.plot.lines import over, place
from trimline.plot.packets import trimmed_up
from trimline.plot.sweeps import mean_share, slow_share

from trimline.plot import FIGURES, Experiment, MalformedResult, draw
from trimline.plot.figures import TABLES

FLOW = ["workload", "source", "destination", "size_bytes", "fct_receiver_ps", "ideal_fct_ps"]
FLOW += ["measured_bytes"]
EVENT = [
    "time_ps",
    "until_ps",
    "place",
    "event",
    "packet",
    "source",
    "destination",
    "attempt",
    "queue_packets",
]


def write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """A table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


class Drawing(unittest.TestCase):
    """Each figure from the least that it needs."""

    def setUp(self) -> None:
        """A folder of made-up results."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_of(
        self,
        figure: str,
        name: str,
        flows: Sequence[Mapping[str, object]] = ({"measured_bytes": 10_000_000},),
        summary: Mapping[str, object] | None = None,
        **tables: tuple[Sequence[str], Sequence[Mapping[str, object]]],
    ) -> None:
        """A run as the simulator leaves it; `name` is series, point and seed."""
        folder = self.folder / "ndp" / figure / "runs" / name
        folder.mkdir(parents=True)
        common = {"workload": "w", "source": 1, "destination": 0, "measured_bytes": 0}
        write(folder / "flows.csv", FLOW, [{**common, **flow} for flow in flows])
        for table, (columns, rows) in tables.items():
            write(folder / f"{table}.csv", columns, rows)
        parts = name.split("/")
        whole = {"series": parts[0], "seed": int(parts[-1].removeprefix("seed-"))}
        whole |= {"simulated_ps": 10**10, "measured_ps": 10**10, "interrupted": False}
        whole |= {"flows": {"total": len(flows)}, "packets_sent": 1000, "packets_delivered": 900}
        whole |= {"goodput_gbps": {"mean": 9.0, "min": 8.0}, "fct_receiver_us": {"max": 300.0}}
        whole |= {"retransmissions": {"nack": 30, "return": 20, "timeout": 0}, **(summary or {})}
        (folder / "summary.json").write_text(json.dumps(whole), encoding="utf-8")
        payload = 1500 if "1500" in name else 9000
        link = {"rate_bps": 10**10, "payload_bytes": payload, "header_bytes": 64}
        (folder / "manifest.json").write_text(json.dumps({"host_link": link}), encoding="utf-8")

    def findings(self, figure: str, findings: Sequence[Mapping[str, object]]) -> None:
        """A verdict."""
        path = self.folder / "ndp" / figure / "findings.json"
        path.write_text(json.dumps({"id": f"ndp/{figure}", "findings": findings}), encoding="utf-8")

    def reference(self, figure: str, name: str, lines: Sequence[str]) -> None:
        """A published file."""
        folder = self.folder / "ndp" / figure / "reference"
        folder.mkdir()
        (folder / f"ndp-{figure}-{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def drawn(self, figure: str) -> None:
        """PNG and PDF, twice the same bytes."""
        identifier = f"ndp/{figure}"
        made = []
        for folder in ("once", "again"):
            experiment = Experiment.read(self.folder, identifier)
            made.append(draw(experiment, self.folder / folder))
        for one, other in zip(*made, strict=True):
            self.assertGreater(one.stat().st_size, 5_000)
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)

    def refused(self, figure: str, words: str) -> None:
        """Fails with these words, which name what is missing."""
        with self.assertRaisesRegex(MalformedResult, words):
            draw(Experiment.read(self.folder, f"ndp/{figure}"), self.folder / "figures")

    def test_fair_shares(self) -> None:
        """fig02: mean and slowest tenth by number of senders."""
        for senders in (1, 11):
            for series in ("cp-9000", "ndp-9000", "cp-1500", "ndp-1500"):
                flows = [{"measured_bytes": 100_000 * (n + 1)} for n in range(senders)]
                self.run_of("fig02", f"{series}/senders={senders}/seed-1", flows)
        self.drawn("fig02")
        runs = Experiment.read(self.folder, "ndp/fig02").series()["cp-9000"]
        eleven = next(run for run in runs if run.point == {"senders": "11"})
        # 0.08 Gb/s a step: of eleven flows the mean is the sixth, the slowest tenth the first two.
        self.assertAlmostEqual(mean_share(eleven), 6 * 0.08 * 110)
        self.assertAlmostEqual(slow_share(eleven), 1.5 * 0.08 * 110)

    def timeline(self, series: str, *, again: bool = True) -> None:
        """One packet trimmed, its header, NACK and retransmission."""
        port, us = "tor 0 down 0", 10**6
        steps = [
            (0, 7, "host 9", "depart", "data", 0, ""),
            (8, "", port, "enqueue", "data", 0, 8),
            (8, "", port, "trim", "header", 0, 1),
            (15, 16, port, "depart", "header", 0, 1),
            (17, "", "host 0", "arrive", "header", 0, ""),
            (17, 18, "host 0", "depart", "nack", 0, ""),
            (19, "", "host 9", "arrive", "nack", 0, ""),
            (19, 26, "host 9", "depart", "data", 1, ""),
            (27, "", port, "enqueue", "data", 1, 7),
            (66, 73, port, "depart", "data", 1, 1),
            (74, "", "host 0", "arrive", "data", 1, ""),
        ]
        rows = [dict(zip(EVENT, [*step[:5], 9, 0, *step[5:]], strict=True)) for step in steps]
        for row in rows:
            row["time_ps"] *= us
            row["until_ps"] = row["until_ps"] and row["until_ps"] * us
        kept = [row for row in rows if again or (row["event"], row["attempt"]) != ("enqueue", 1)]
        self.run_of("fig03", f"{series}/seed-1", timeline=(EVENT, kept))

    def test_timeline(self) -> None:
        """fig03: the way of the packet that is trimmed."""
        self.timeline("one-switch")
        self.timeline("between-pods")
        self.drawn("fig03")

    def test_timeline_without_the_retransmission(self) -> None:
        """fig03 shows nothing that did not happen."""
        self.timeline("one-switch", again=False)
        self.refused("fig03", "no enqueue of a data at tor 0 down 0")

    def test_latencies(self) -> None:
        """fig04: four distributions; a run without them says what to ask for."""
        columns = ["packets", "share_permille", "latency_ps"]
        rows = [
            {"packets": "all", "share_permille": n, "latency_ps": 10**8 + n} for n in range(1001)
        ]
        series = ("permutation", "random", "incast-135KB", "incast-1350KB")
        for name in series:
            self.run_of("fig04", f"{name}/seed-1", latencies=(columns, rows))
        self.drawn("fig04")
        (self.folder / "ndp/fig04/runs/random/seed-1/latencies.csv").unlink()
        self.refused("fig04", r"latencies.csv is missing: .*output.latencies")

    def test_windows(self) -> None:
        """fig11 and fig17: goodput by initial window."""
        for window in (1, 15, 30):
            kinds = ("", "-hosts", "-hosts-spread", "-drawn", "-measured")
            for series in (f"simulated{kind}" for kind in kinds):
                self.run_of("fig11", f"{series}/initial_window={window}/seed-1")
            for series in ("128-9000", "432-9000", "128-1500", "432-1500"):
                for queue in (6, 8):
                    point = f"data_queue={queue}pkt,initial_window={window}"
                    self.run_of("fig17", f"{series}/{point}/seed-1")
        self.drawn("fig11")
        self.drawn("fig17")

    def test_spacing(self) -> None:
        """fig13: sizes of an incast, and ranks of a permutation."""
        for kind in ("perfect", "drawn"):
            for size in (9, 900):
                flows = [{"size_bytes": 1000 * size, "fct_receiver_ps": 10**9 * size}]
                self.run_of("fig13", f"incast-{kind}/size={size}KB/seed-1", flows)
            self.run_of("fig13", f"permutation-{kind}/seed-1")
        self.drawn("fig13")
        # With a measured distribution as well.
        for series in ("incast-measured/size=9KB", "permutation-measured"):
            flows = [{"size_bytes": 9000, "fct_receiver_ps": 10**9}]
            self.run_of("fig13", f"{series}/seed-1", flows)
        self.drawn("fig13")

    def test_incast(self) -> None:
        """fig20: over the ideal, and retransmissions by cause, beside the published."""
        lines = ["initial_window,senders,fct_max_s,rtx_return_to_sender,rtx_nack"]
        for window in (1, 10, 23):
            for senders in (1, 4):
                flows = [
                    {"size_bytes": 270_000, "ideal_fct_ps": 259_792_000, "fct_receiver_ps": 10**9}
                ] * senders
                summary = {"fct_receiver_us": {"max": 280.0 * senders}}
                self.run_of("fig20", f"window-{window}/senders={senders}/seed-1", flows, summary)
                lines.append(f"{window},{senders},{0.00029 * senders},{senders},{9 * senders}")
        self.reference("fig20", "incast", lines)
        self.drawn("fig20")

    def test_failure(self) -> None:
        """fig22: with and without path penalty, beside the published."""
        for series in ("penalty", "no-penalty"):
            flows = [{"measured_bytes": 11_000_000 + n} for n in range(4)]
            self.run_of("fig22", f"{series}/seed-1", flows)
        columns = "ndp_no_penalty_gbps,ndp_penalty_gbps,mptcp_gbps,dctcp_gbps"
        self.reference("fig22", "failure", [f"rank,{columns}", "0,4,9,7,0.2", "1,9,9,8,1"])
        self.drawn("fig22")

    def test_trims_on_the_way_up(self) -> None:
        """sec323: by tier, of the packets sent."""
        ports = [
            {"name": n, "trimmed": t} for n, t in (("tor 0 up 1", 4), ("aggregation 2 up 0", 1))
        ]
        ports.append({"name": "tor 0 down 1", "trimmed": 500})
        for series in ("sender-permuted", "switch-random"):
            self.run_of("sec323", f"{series}/seed-1", ports=(["name", "trimmed"], ports))
        paper = {
            "name": "trimmed on uplinks, paths chosen by the switches",
            "paper": 0.01,
            "unit": "%",
        }
        self.findings("sec323", [paper])
        self.drawn("sec323")
        run = Experiment.read(self.folder, "ndp/sec323").runs[0]
        shares = [trimmed_up(run, tier) for tier in ("both", "tor", "aggregation")]
        self.assertEqual(shares, [0.5, 0.4, 0.1])

    def test_scale(self) -> None:
        """sec62scale: the paper's numbers and the ranges beside ours."""
        for hosts in (128, 8192):
            self.run_of("sec62scale", f"hosts-{hosts}/seed-1")
        finding = {
            "name": "mean throughput, 128 hosts",
            "paper": 98.0,
            "lo": 96.5,
            "hi": 98.5,
            "unit": "%",
        }
        self.findings("sec62scale", [finding])
        self.drawn("sec62scale")

    def test_a_permutation_beside_an_incast(self) -> None:
        """sec611: the permutation's flows alone count."""
        flows = [
            {"workload": "permutation", "measured_bytes": 9_000_000},
            {"workload": "incast", "measured_bytes": 1},
        ]
        for series in ("ndp", "dctcp"):
            for senders in (10, 100):
                self.run_of("sec611", f"{series}/senders={senders}/seed-1", flows)
        finding = {"name": "NDP utilization", "paper": 92.0, "unit": "%"}
        self.findings("sec611", [finding])
        self.drawn("sec611")

    def test_a_permutation_with_dcqcn(self) -> None:
        """sec611: series that the paper's authors had are drawn where they are there."""
        flows = [{"workload": "permutation", "measured_bytes": 9_000_000}]
        for series in ("ndp", "dctcp", "dcqcn", "dcqcn-window"):
            self.run_of("sec611", f"{series}/senders=10/seed-1", flows)
        findings = [
            {"name": name, "paper": paper, "unit": "%"}
            for name, paper in (("NDP utilization", 92.0), ("DCQCN: utilization", 17.0))
        ]
        self.findings("sec611", findings)
        self.drawn("sec611")

    def test_ndp_beside_tcp(self) -> None:
        """coexist: a bar for each kind of flow and every mixture but the one that only ends."""
        flows = [
            {"workload": "ndp", "measured_bytes": 6_000_000},
            {"workload": "tcp", "measured_bytes": 5_000_000},
        ]
        for series in ("four-each", "one-queue", "incast-to-its-end"):
            self.run_of("coexist", f"{series}/seed-1", flows)
        self.drawn("coexist")

    def test_short_transfers(self) -> None:
        """fig15, fig23: distributions; a flow that did not end leaves the line below the top."""
        short: list[dict[str, object]]
        short = [{"workload": "short", "fct_receiver_ps": 10**8 * n} for n in (1, 2, 3)]
        short.append({"workload": "short", "fct_receiver_ps": ""})
        for series in ("ndp", "dctcp"):
            self.run_of("fig15", f"{series}/seed-1", [*short, {"workload": "background"}])
            for flows in (5, 10):
                self.run_of("fig23", f"{series}/flows={flows}/seed-1", short)
        self.drawn("fig15")
        self.drawn("fig23")
        self.run_of("fig15", "mptcp/seed-1", short[3:])
        self.refused("fig15", "no flow ended")

    def test_a_long_flow_beside_an_incast(self) -> None:
        """fig19: data that left towards the long flow's host."""
        columns = ["event", "packet", "place", "workload", "time_ps", "wire_bytes"]
        sent = {"event": "depart", "packet": "data", "place": "tor 0 down 1", "workload": "long"}
        rows = [
            {**sent, "time_ps": 19 * 10**9 + n * 7_251_200, "wire_bytes": 9064} for n in range(500)
        ]
        for series in ("ndp", "dctcp"):
            self.run_of("fig19", f"{series}/seed-1", timeline=(columns, rows))
        self.drawn("fig19")

    def test_every_experiment_has_a_figure(self) -> None:
        """All but the base model, which is four numbers."""
        experiments = Path(__file__).parents[2] / "experiments"
        known = {f"ndp/{path.parent.name}" for path in experiments.glob("ndp/*/scenario.toml")}
        self.assertLessEqual(known, set(FIGURES) | TABLES)

    def test_places(self) -> None:
        """Numbers of a sweep with their units, means over seeds, and what is no number."""
        at = [("8pkt", 1.0), ("6pkt", 2.0), ("8pkt", 3.0)]
        runs = [SimpleNamespace(point={"q": label}, value=value, folder="f") for label, value in at]
        found = over(runs, lambda run: place(run, "q"), lambda run: run.value)  # type: ignore[arg-type]
        self.assertEqual(found, ([6.0, 8.0], [2.0, 2.0]))
        for point in ({}, {"q": "many"}):
            run = SimpleNamespace(point=point, folder="f")
            with self.assertRaisesRegex(MalformedResult, "no number at 'q'"):
                place(run, "q")  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
