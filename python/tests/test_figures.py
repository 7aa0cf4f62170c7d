"""Figures of single experiments from made-up results: the numbers that they show."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from matplotlib.text import Annotation

from tests.made import EXPERIMENTS, Made, texts
from trimline.plot import Change, load

#: Of two seeds the interval is that many halves of their difference to either side.
STUDENT = 12.706
MINUS = "\N{MINUS SIGN}"


def code_of(identifier: str) -> ModuleType:
    """Returns an experiment's figure.py as a module."""
    return load(EXPERIMENTS / identifier / "figure.py", identifier)


def expected(identifier: str) -> dict[str, Any]:
    """Returns the findings of an experiment by name, as the repository has them."""
    text = (EXPERIMENTS / identifier / "expected.toml").read_text(encoding="utf-8")
    return {finding["name"]: finding for finding in tomllib.loads(text)["finding"]}


class OfExperiment(Made):
    """Made-up results, and the code of the experiment."""

    @property
    def code(self) -> ModuleType:
        """The experiment's figure.py."""
        return code_of(self.identifier)

    def assert_measure(self, change: Change, mean: float, half: float | None) -> None:
        """Compares mean and half of the interval."""
        self.assertAlmostEqual(change.measure.mean, mean)
        if half is None or change.measure.half_width is None:
            self.assertEqual(change.measure.half_width, half)
        else:
            self.assertAlmostEqual(change.measure.half_width, half, places=6)


class Ndp(OfExperiment):
    """Figures of NDP's paper."""

    def of(self, figure: str) -> None:
        """The next runs are of this one."""
        self.identifier = f"ndp/{figure}"

    def test_published_series_have_their_own_figure(self) -> None:
        """fig14 keeps our series and the published ones apart."""
        self.of("fig14")
        for series in ("paper", "htsim"):
            for seed in (1, 2):
                flows = [{"measured_bytes": 10**7 + 10**4 * n * seed} for n in range(8)]
                self.run_of(f"{series}/seed-{seed}", flows)
        self.reference("permutation-432", "rank,ndp_gbps", *(f"{n},{8 + n}" for n in range(8)))
        figure = self.drawn()
        names = [path.name for path in sorted((self.results / "once").glob("*.png"))]
        self.assertEqual(names, ["ndp-fig14-all.png", "ndp-fig14.png"])
        full, htsim, paper, authors = figure.axes[0].lines
        self.assertAlmostEqual(full.get_ydata()[0], 9.929, places=3)
        for ours in (htsim, paper):
            self.assertAlmostEqual(ours.get_ydata()[1], (10**7 + 1.5 * 10**4) * 8e-7)
        self.assertEqual(list(authors.get_ydata()), list(range(8, 16)))

    def test_an_incast_is_drawn_by_senders(self) -> None:
        """fig16: a panel a question; every line has its words at its end, and none on others."""
        self.of("fig16")
        lines = ["senders,fct_min_s,fct_mid_s,fct_max_s"]
        for count in (1, 11, 21):
            last = (count * 362_560_000 + 42_256_000) // 1
            lines.append(f"{count},{last / 1.1e12},0,{last / 999e9}")
            for seed in (1, 2):
                flow = {"size_bytes": 450_000, "ideal_fct_ps": 404_816_000}
                times = [last - at * 10**7 + seed * 10**6 for at in range(count)]
                flows = [{**flow, "fct_receiver_ps": time} for time in times]
                self.run_of(f"ndp/senders={count}/seed-{seed}", flows)
                if count > 1:
                    one = {**flow, "workload": "prioritised", "fct_receiver_ps": 420_000_000}
                    self.run_of(f"prioritised/senders={count}/seed-{seed}", [one, *flows[1:]])
        self.reference("incast-450KB-432", *lines)
        figure = self.drawn()
        self.assertEqual(len({axes.get_title(loc="left") for axes in figure.axes}), 4)
        for axes in figure.axes:
            words = [text for text in axes.texts if isinstance(text, Annotation)]
            heights = sorted(text.xyann[1] for text in words)
            self.assertTrue(all(b - a > 0.05 for a, b in pairwise(heights)), heights)
        last_panel, over, _, preferred = figure.axes
        self.assertAlmostEqual(last_panel.lines[0].get_ydata()[0], 0.404816 + 0.0015)
        self.assertAlmostEqual(over.lines[0].get_ydata()[0], 100 * 0.0015 / 0.404816)
        self.assertAlmostEqual(preferred.lines[0].get_ydata()[0], 0.42)
        self.run_of("ndp/senders=31/seed-1", [{**flow, "fct_receiver_ps": ""}])
        self.refused("1 of 1 flows did not complete")

    def test_sharing_is_drawn_from_the_verdict(self) -> None:
        """fig21 comes from the verdict."""
        self.of("fig21")
        self.run_of("s/seed-1")
        self.refused("findings in Gb/s")
        flows = {"A to B": 2.51, "A to C": 2.51, "F to E": 7.55}
        each = [{"name": name, "paper": at, "ours": at - 1, "lo": 1} for name, at in flows.items()]
        self.verdict(*({**one, "hi": 9, "unit": "Gb/s"} for one in each))
        heights = [bar.get_height() for bar in self.drawn().axes[0].patches]
        self.assertEqual(heights[:3], [2.51, 2.51, 7.55])
        self.assertEqual(heights[3:6], [at - 1 for at in flows.values()])
        self.assertEqual(heights[6:], [8, 8, 8], "the accepted ranges")

    def test_fair_shares_are_drawn_by_senders(self) -> None:
        """fig02: 0.08 Gb/s a step; of eleven the slowest tenth are two."""
        self.of("fig02")
        for senders in (1, 11):
            flows = [{"measured_bytes": 100_000 * (n + 1)} for n in range(senders)]
            for series in ("cp-9000", "ndp-9000", "cp-1500", "ndp-1500"):
                self.run_of(f"{series}/senders={senders}/seed-1", flows)
        mean, slow, *_ = self.drawn().axes[0].lines
        self.assertAlmostEqual(mean.get_ydata()[1], 6 * 0.08 * 110)
        self.assertAlmostEqual(slow.get_ydata()[1], 1.5 * 0.08 * 110)

    def timeline(self, series: str, *, again: bool = True) -> None:
        """Writes a run: one packet trimmed, its header, NACK and retransmission."""
        port = "tor 0 down 0"
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
        keys = ("time_ps", "until_ps", "place", "event", "packet", "attempt", "queue_packets")
        rows = []
        for begin, end, *step in steps:
            times = (int(begin) * 10**6, end and int(end) * 10**6)
            row = dict(zip(keys, (*times, *step), strict=True)) | {"source": 9, "destination": 0}
            if again or (row["event"], row["attempt"]) != ("enqueue", 1):
                rows.append(row)
        self.run_of(f"{series}/seed-1", tables={"timeline": rows})

    def test_a_timeline_shows_the_path_of_a_trimmed_packet(self) -> None:
        """fig03 shows the way of the trimmed packet, and nothing that did not happen."""
        self.of("fig03")
        self.timeline("between-pods")
        self.timeline("one-switch")
        self.assertIn("the retransmission finds 6", texts(self.drawn()))
        self.timeline("one-switch", again=False)
        self.refused("no enqueue of a data at tor 0 down 0")

    def test_latencies_are_drawn_as_a_distribution(self) -> None:
        """fig04: in microseconds and percent; a run without them says what to ask for."""
        self.of("fig04")
        rows = [{"packets": "all", "share_permille": n, "latency_ps": 10**8} for n in (0, 1000)]
        folder = self.run_of("random/seed-1", tables={"latencies": rows})
        line = self.drawn().axes[0].lines[0]
        self.assertEqual(line.get_xydata().tolist(), [[100, 0], [100, 100]])
        (folder / "latencies.csv").unlink()
        self.refused(r"latencies.csv is missing: .*output.latencies")

    def test_goodput_is_drawn_by_initial_window(self) -> None:
        """fig11 and fig17: goodput by initial window, a line a series and a line a queue."""
        for window in (15, 1):
            goodput = {"mean": window / 2}
            self.of("fig11")
            for ending in ("", "-hosts", "-drawn"):
                name = f"simulated{ending}/initial_window={window}/seed-1"
                self.run_of(name, goodput_gbps=goodput)
            self.of("fig17")
            for series in ("128-9000", "432-9000", "128-1500", "432-1500"):
                for queue in (8, 6):
                    point = f"data_queue={queue}pkt,initial_window={window}"
                    self.run_of(f"{series}/{point}/seed-1", goodput_gbps=goodput)
        for figure, lines, values in (("fig11", 6, [0.5, 7.5]), ("fig17", 4, [5, 75])):
            self.of(figure)
            axes = self.drawn().axes[0]
            self.assertEqual(len(axes.lines), lines)
            self.assertEqual(list(axes.lines[figure == "fig11"].get_ydata()), values)

    def test_pull_spacing_is_drawn_for_incast_and_permutation(self) -> None:
        """fig13: sizes of an incast, and ranks of a permutation; one may be missing."""
        self.of("fig13")
        for kind in ("perfect", "measured"):
            for size in (900, 9):
                self.run_of(
                    f"incast-{kind}/size={size}KB/seed-1", [{"fct_receiver_ps": size * 10**9}]
                )
            self.run_of(f"permutation-{kind}/seed-1")
        left, right = self.drawn().axes
        self.assertEqual(left.lines[1].get_xydata().tolist(), [[9, 9], [900, 900]])
        self.assertEqual(right.lines[0].get_label(), "perfect: mean 8.00 Gb/s")

    def test_large_incasts_show_overhead_and_retransmissions(self) -> None:
        """fig20: over the ideal, and retransmissions by cause, beside the published."""
        self.of("fig20")
        lines = ["initial_window,senders,fct_max_s,rtx_return_to_sender,rtx_nack"]
        flow = {"size_bytes": 270_000, "ideal_fct_ps": 259_792_000}
        for window in (1, 10, 23):
            for senders in (1, 4):
                times = {"max": 280.0 * senders}
                name = f"window-{window}/senders={senders}/seed-1"
                self.run_of(name, [flow] * senders, fct_receiver_us=times)
                lines.append(f"{window},{senders},{0.00029 * senders},{senders},{9 * senders}")
        self.reference("incast", *lines)
        above, below = self.drawn().axes
        self.assertAlmostEqual(above.lines[0].get_ydata()[0], 100 * (280 / 259.792 - 1))
        self.assertAlmostEqual(above.lines[1].get_ydata()[0], 100 * (290 / 259.792 - 1))
        self.assertEqual(list(below.lines[0].get_ydata()), [30 / 900] * 2)
        self.assertEqual(list(below.lines[1].get_ydata()), [9 / 30] * 2)

    def test_link_failures_are_drawn_by_seed(self) -> None:
        """fig22: seeds of NDP one by one, beside the published."""
        self.of("fig22")
        for series in ("penalty", "no-penalty", "mptcp-100"):
            for seed in (1, 2):
                flows = [{"measured_bytes": 10**7 + seed * n} for n in range(4)]
                self.run_of(f"{series}/seed-{seed}", flows)
        columns = "ndp_no_penalty_gbps,ndp_penalty_gbps,mptcp_gbps,dctcp_gbps"
        self.reference("failure", f"rank,{columns}", "0,4,9,7,0.2", "1,9,9,8,1")
        self.assertEqual(len(self.drawn().axes[0].lines), 3 + 3 + 1 + 4)

    def test_trims_are_drawn_by_tier(self) -> None:
        """sec323: by tier, of the packets sent."""
        self.of("sec323")
        trimmed = {"tor 0 up 1": 4, "aggregation 2 up 0": 1, "tor 0 down 1": 500}
        ports = [{"name": name, "trimmed": count} for name, count in trimmed.items()]
        for series in ("sender-permuted", "switch-random"):
            self.run_of(f"{series}/seed-1", tables={"ports": ports})
        name = "trimmed on uplinks, paths chosen by the switches"
        self.verdict({"name": name, "paper": 0.01, "unit": "%"})
        axes = self.drawn().axes[0]
        self.assertEqual(
            [bar.get_height() for bar in axes.patches], [0.5] * 2 + [0.4] * 2 + [0.1] * 2
        )
        self.assertEqual(list(axes.lines[0].get_ydata()), [0.01, 0.01])

    def test_throughput_is_drawn_by_network_size(self) -> None:
        """sec62scale: the paper's numbers and the ranges beside ours."""
        self.of("sec62scale")
        for hosts in (8192, 128):
            self.run_of(f"hosts-{hosts}/seed-1")
        finding = {"name": "mean throughput, 128 hosts", "paper": 98.0, "lo": 96.5, "hi": 98.5}
        self.verdict(finding)
        axes = self.drawn().axes[0]
        mean, slowest, paper = axes.lines
        (accepted,) = axes.patches
        self.assertEqual(mean.get_xydata().tolist(), [[128, 90], [8192, 90]])
        self.assertEqual(list(slowest.get_ydata()), [80, 80])
        self.assertEqual([accepted.get_y(), accepted.get_height()], [96.5, 2.0])
        self.assertEqual(paper.get_xydata().tolist(), [[128, 98]])

    def test_only_the_permutation_beside_an_incast_counts(self) -> None:
        """sec611: the permutation's flows alone count; papers have a line each."""
        self.of("sec611")
        flows = [
            {"workload": "permutation", "measured_bytes": 10_000_000},
            {"workload": "incast", "measured_bytes": 1},
        ]
        for series in ("ndp", "dctcp", "dcqcn-window"):
            self.run_of(f"{series}/senders=10/seed-1", flows)
        names = ("NDP utilization", "DCQCN: utilization")
        self.verdict(*({"name": name, "paper": 17.0} for name in names))
        lines = self.drawn().axes[0].lines
        self.assertEqual([line.get_ydata()[0] for line in lines], [80.0] * 3 + [17.0] * 2)
        self.assertEqual(lines[-1].get_label(), "DCQCN, paper")

    def test_ndp_beside_tcp_has_a_bar_for_each_kind_of_flow(self) -> None:
        """coexist: a bar for each kind of flow and every mixture but the one that only ends."""
        self.of("coexist")
        flows = [
            {"workload": "ndp", "measured_bytes": 6_250_000},
            {"workload": "tcp", "measured_bytes": 5_000_000},
        ]
        for series in ("one-queue", "two-each", "incast-to-its-end"):
            self.run_of(f"{series}/seed-1", flows)
        axes = self.drawn().axes[0]
        self.assertEqual([bar.get_height() for bar in axes.patches], [50, 50, 40, 40])
        ticks = [tick.get_text() for tick in axes.get_xticklabels()]
        self.assertEqual(ticks, ["two\neach", "one\nqueue"])

    def test_short_transfers_are_drawn_as_distributions(self) -> None:
        """fig15, fig23: distributions; a flow that did not end leaves the line below the top."""
        short: list[dict[str, object]]
        short = [{"workload": "short", "fct_receiver_ps": 10**8 * n} for n in (1, 2, 3)]
        short.append({"workload": "short", "fct_receiver_ps": "", "ideal_fct_ps": 10**6})
        for series in ("ndp", "dctcp"):
            self.of("fig15")
            self.run_of(f"{series}/seed-1", [*short, {"workload": "background"}])
            self.of("fig23")
            for flows in (5, 10):
                self.run_of(f"{series}/flows={flows}/seed-1", short)
        self.assertEqual(len(self.drawn().axes), 2)
        self.of("fig15")
        self.assertEqual(self.drawn().axes[0].lines[0].get_ydata()[-1], 0.75)
        self.run_of("mptcp/seed-1", short[3:])
        self.refused("no flow ended")

    def test_a_long_flow_beside_an_incast_is_drawn_over_time(self) -> None:
        """fig19: data that left towards the long flow's host, at the rate of the link."""
        self.of("fig19")
        sent = {"event": "depart", "packet": "data", "place": "tor 0 down 1", "workload": "long"}
        rows = [
            {**sent, "time_ps": 19 * 10**9 + n * 7_251_200, "until_ps": "", "wire_bytes": 9064}
            for n in range(500)
        ]
        for series in ("ndp", "dctcp"):
            self.run_of(f"{series}/seed-1", tables={"timeline": rows})
        line = self.drawn().axes[0].lines[0]
        self.assertEqual(line.get_xdata()[0], 19.25)
        self.assertAlmostEqual(line.get_ydata()[0], 10, delta=0.05)


class SmallPackets(OfExperiment):
    """Small packets against 9000 B."""

    identifier = "beyond/ndp-small-packets"

    def goodput(self, series: str, *seeds: tuple[int, float]) -> None:
        """Writes a series: its mean goodputs by seed."""
        for seed, gbps in seeds:
            self.run_of(f"{series}/seed-{seed}", goodput_gbps={"mean": gbps, "min": 1})

    def test_goodput_is_compared_with_9000_bytes_by_seed(self) -> None:
        """Seed by seed, then the mean: what a seed does to both is no part of the interval."""
        self.goodput("9000", (1, 8.0), (2, 9.0))
        for payload in self.code.GOALS:
            for option in self.code.OPTIONS:
                factors = (1.01, 1.01) if option == "-all" else (0.9, 0.88)
                self.goodput(f"{payload}{option}", (1, 8 * factors[0]), (2, 9 * factors[1]))
        found = self.code.changes(self.read("full"))
        self.assertEqual([len(changes) for changes in found.values()], [5, 5])
        self.assert_measure(found[750][""], -11, STUDENT)
        self.assert_measure(found[1500]["-all"], 1, 0)
        figure = self.drawn()
        for axes, goal in zip(figure.axes, (-6, -12), strict=True):
            self.assertIn(f"goal: at most {-goal} % less", [each.get_text() for each in axes.texts])
            lines = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
            self.assertEqual(lines, [goal])
        self.assertEqual(texts(figure).count(f"{MINUS}11.0 ± 12.7"), 8)
        self.assertEqual(texts(figure).count("+1.00 ± 0.00"), 2)

    def test_missing_seeds_are_not_compared(self) -> None:
        """Only those that both have are compared; of one there is no interval."""
        self.goodput("9000", (1, 8.0), (2, 9.0))
        self.goodput("1500", (2, 8.1), (3, 1.0))
        found = self.code.changes(self.read("quick"))
        self.assertEqual(list(found), [1500])
        self.assert_measure(found[1500][""], -10, None)
        figure = self.drawn()
        self.assertEqual(texts(figure)[1:], [f"{MINUS}10.0"])
        self.assertIn("1 seed, no intervals", figure.get_suptitle())
        self.goodput("750", (4, 8.1))
        self.refused("'750' and '9000' have no seed in common", "quick")

    def test_missing_series_are_refused(self) -> None:
        """A whole result has them all; without 9000 B nothing can be said of a part either."""
        self.goodput("1500", (1, 8.1))
        self.refused("no series '9000'", "quick")
        self.goodput("9000", (1, 9.0))
        self.refused("no series '1500-window'", "full")

    def test_goals_match_the_findings(self) -> None:
        """They are those that findings are judged by."""
        findings = expected(self.identifier)
        for payload, goal in self.code.GOALS.items():
            name = f"goodput, {payload} B, all three, against 9000 B"
            self.assertEqual(findings[name]["lo"], goal)


class CongestedCores(OfExperiment):
    """Pulls at the core's rate."""

    identifier = "beyond/ndp-congested-cores"

    def work(
        self, name: str, seed: int, trimmed: int, resent: int, times: Sequence[int | str]
    ) -> Path:
        """Writes a run: trimmed and resent packets of 1000, FCTs in us, and a late flow."""
        flows = [{"fct_receiver_ps": us and int(us) * 10**6} for us in times]
        if name.startswith("web"):
            flows.append({"start_ps": 40 * 10**9, "fct_receiver_ps": 10**12})
        return self.run_of(
            f"{name}/seed-{seed}",
            flows,
            ports={"trimmed": trimmed},
            packets_delivered=500,
            retransmissions={"nack": resent, "return": 0, "timeout": 0},
        )

    def test_quotients_are_averaged_over_seeds(self) -> None:
        """Trims are a half and an eighth by seed: their mean is a quarter, of doublings."""
        for work in self.code.WORKS:
            for seed, part in ((1, 2), (2, 8)):
                self.work(f"{work.series}-paper", seed, 400, 500, [*[100] * 98, 300, 400])
                times = [*[50] * 98, 600, 700]
                self.work(f"{work.series}-core-rate", seed, 400 // part, 100, times)
        found = self.code.ratios(self.read("full"))
        self.assertEqual(list(found), ["web-4", "web-8", "permutation-8"])
        trims, again, _, tail = found["web-4"]
        self.assert_measure(trims.change, -2, STUDENT)
        # The 99th of a hundred; the flow that began late is not counted.
        quotients = [round(row.quotient, 6) for row in found["web-4"]]
        self.assertEqual(quotients, [0.25, 0.2, 0.5, 2])
        self.assertEqual([row.goal for row in found["web-4"]], [0.5, None, 1, 1])
        # One packet in five, of one a packet.
        self.assertAlmostEqual(found["permutation-8"][1].goal, 0.2)
        words = [
            self.code.from_to(row).replace(" \N{RIGHTWARDS ARROW} ", ">") for row in (trims, tail)
        ]
        self.assertEqual(words, ["40>12.5 %", "300>600 µs"])
        self.assertEqual(self.code.from_to(again)[-14:], "0.200 a packet")
        figure = self.drawn()
        axes = figure.axes[-1]
        half, same, twice = (axes.transData.transform((x, 0))[0] for x in (0.5, 1, 2))
        self.assertAlmostEqual(twice - same, same - half)
        figure.canvas.draw()
        labels = [label.get_text() for label in axes.get_xticklabels()]
        self.assertEqual(labels[labels.index("1/4") :][:4], ["1/4", "half", "the same", "twice"])

    def test_unfinished_flows_count_as_the_slowest(self) -> None:
        """They are the slowest; where they are more than one in a hundred there is no quantile."""
        for name in ("permutation-8-paper", "permutation-8-core-rate"):
            self.work(name, 1, 400, 500, [*[100] * 98, 300, ""])
        ratios = self.code.ratios(self.read("quick"))["permutation-8"]
        self.assertEqual(ratios[3].quotient, 1)
        figure = self.drawn()
        self.assertEqual(len(figure.axes), 1)
        self.assertIn("1 seed, no intervals", figure.get_suptitle())
        self.refused("no series 'web-4-paper'", "full")
        self.work("permutation-8-core-rate", 2, 400, 500, [*[100] * 98, "", ""])
        self.work("permutation-8-paper", 2, 400, 500, [*[100] * 98, 300, 400])
        self.refused("fewer than 99 % of the flows ended", "quick")

    def test_series_without_a_quotient_are_refused(self) -> None:
        """A series that trims nothing, and flows without a start."""
        folder = self.work("web-4-paper", 1, 400, 500, [1])
        self.work("web-4-core-rate", 1, 0, 500, [1])
        self.refused("'web-4-core-rate': nothing that has a quotient", "quick")
        self.work("web-4-core-rate", 1, 400, 500, [1])
        path = folder / "flows.csv"
        text = path.read_text(encoding="utf-8").replace("start_ps", "begin")
        path.write_text(text, encoding="utf-8")
        self.refused("flows.csv: no usable start_ps", "quick")

    def test_goals_match_the_findings(self) -> None:
        """They are those that findings are judged by."""
        findings = expected(self.identifier)
        names = ("web traffic 4:1", "web traffic 8:1", "permutation 8:1")
        for work, words in zip(self.code.WORKS, names, strict=True):
            trimmed = findings[f"{words}: trimmed, against the paper's"]
            self.assertEqual(trimmed["series"], f"{work.series}-core-rate")
            self.assertEqual(trimmed["hi"] / 100 + 1, self.code.HALF)
            median = findings[f"{words}: median, against the paper's"]
            self.assertEqual(median["hi"] / 100 + 1, self.code.NO_WORSE)
            before = median["measure"].get("started_before_us", float("inf"))
            self.assertEqual(before / 1e3, work.before_ms)
            resent = findings[f"{words}: resent, at the core's rate"]
            self.assertEqual(resent.get("hi"), work.resent)


class MixedSizes(OfExperiment):
    """Two packet sizes in one network."""

    identifier = "beyond/mixed-mtu"

    def goodput(self, series: str, seed: int, large: Sequence[int], small: Sequence[int]) -> None:
        """Writes the goodput of each flow, in percent of the link."""
        flows = [
            # 10 Gb/s over 10 ms are 12.5 MB.
            {"workload": workload, "measured_bytes": 125_000 * percent}
            for workload, percents in (("large", large), ("small", small))
            for percent in percents
        ]
        self.run_of(f"{series}/seed-{seed}", flows)

    def test_goodput_is_compared_by_payload(self) -> None:
        """Mean and slowest of each workload, and their intervals over the seeds."""
        for seed in (1, 2):
            for name, (transport, _) in self.code.MIXED.items():
                self.goodput(name, seed, [70 + 2 * seed, 80], [10, 20])
                self.goodput(f"{transport}-all-large", seed, [40, 50], [40, 48])
        found = self.code.goodputs(self.read("full"))
        self.assertEqual(len(found), 11)
        # Means of 76 and 77, slowest of 72 and 74.
        ours = found["ndp"]["large"]
        self.assertAlmostEqual(ours.mean.mean, 76.5)
        self.assertAlmostEqual(ours.mean.half_width, STUDENT / 2, places=6)
        self.assertAlmostEqual(ours.slowest.mean, 73)
        self.assertAlmostEqual(ours.slowest.half_width, STUDENT, places=6)
        self.assertAlmostEqual(found["dcqcn"]["small"].mean.mean, 15)
        self.assertAlmostEqual(found["dcqcn-all-large"]["small"].slowest.mean, 40)
        figure = self.drawn()
        self.assertIn("2 seeds, lines: 95 % intervals", figure.get_suptitle())
        left = [text.get_text() for text in figure.axes[0].texts]
        self.assertEqual(left[1:], ["76", "15"] * 7)

    def test_the_quick_tier_is_drawn(self) -> None:
        """It has few hosts and nothing beside them."""
        self.goodput("small-ndp", 1, [81], [14])
        axes = self.drawn("quick").axes[0]
        self.assertEqual([text.get_text() for text in axes.texts][1:], ["81", "14"])
        labels = [label.get_text() for label in axes.get_yticklabels()]
        self.assertEqual(labels, ["NDP, 16 hosts"])
        self.refused("no series 'ndp'", "full")

    def test_missing_results_are_refused(self) -> None:
        """A series, a workload, or everything that could be drawn."""
        self.goodput("ndp-all-large", 1, [40], [40])
        self.refused("no transport with both packet sizes", "part")
        self.goodput("ndp-all-large", 1, [40], [])
        self.goodput("ndp", 1, [70], [10])
        self.refused("no flow of workload 'small'", "full")


class OptionsCost(OfExperiment):
    """NDP's options where they are not needed."""

    identifier = "beyond/ndp-options-cost"

    def incast(self, series: str, senders: int, *last_us: int | str) -> None:
        """Writes a seed each: the last of two flows."""
        for seed, us in enumerate(last_us, start=1):
            flows = [{"fct_receiver_ps": us and int(us) * 10**6}, {"fct_receiver_ps": 10**6}]
            self.run_of(f"{series}/senders={senders}/seed-{seed}", flows)

    def test_differences_are_drawn_in_percent(self) -> None:
        """By figure, senders and options; one seed has no interval."""
        for seed in (1, 2):
            for option, gbps in (("paper", 9.0), ("core", 9.0), ("small", 9.09 - 0.18 * seed)):
                self.run_of(f"fig14-{option}/seed-{seed}", goodput_gbps={"mean": gbps, "min": 1})
        for senders in (101, 11):
            for option in ("paper", "small", "core"):
                slow = option == "core" and senders == 11
                self.incast(f"fig16-{option}", senders, *([1100, 1120] if slow else [1000, 1000]))
        for option in ("paper", "small", "core"):
            self.incast(f"fig20-{option}", 8000, 2000 if option == "paper" else 2004)
        found = self.code.costs(self.read("full"))
        self.assert_measure(found["fig14"][0]["small"], -2, STUDENT)
        self.assert_measure(found["fig14"][0]["core"], 0, 0)
        self.assertEqual(list(found["fig16"]), [11, 101])
        self.assert_measure(found["fig16"][11]["core"], 11, STUDENT)
        self.assert_measure(found["fig16"][101]["core"], 0, 0)
        self.assert_measure(found["fig20"][8000]["small"], 0.2, None)
        figure = self.drawn()
        for axes, words in zip(
            figure.axes, ("2 seeds, lines: 95 %", "2 seeds", "1 seed, no intervals"), strict=True
        ):
            self.assertIn(words, axes.get_title(loc="left"))
            (band,) = axes.patches
            self.assertEqual((band.get_x(), band.get_width()), (-0.5, 1.0))
        self.assertIn(f"{MINUS}2.0 ± 12.7", texts(figure))
        self.assertIn("+11.0 ± 12.7", texts(figure))
        self.assertEqual(texts(figure).count("+0.20"), 2)

    def test_a_partial_result_is_drawn(self) -> None:
        """The quick tier has one figure of the three, which a whole result must have."""
        self.incast("fig16-small", 11, 1000)
        self.refused("no figure with and without options", "part")
        for option in ("paper", "core"):
            self.incast(f"fig16-{option}", 11, 1000)
        self.assertEqual(len(self.drawn("quick").axes), 1)
        self.refused("no series 'fig14-paper'", "full")
        self.incast("fig16-paper", 101, 1000)
        self.refused("fig16-small and fig16-paper differ in senders", "quick")

    def test_a_flow_that_did_not_end(self) -> None:
        """There is no last flow."""
        self.incast("fig16-paper", 11, 1000)
        self.incast("fig16-core", 11, "")
        self.refused("1 of 2 flows did not complete", "quick")

    def test_the_band_matches_the_findings(self) -> None:
        """It is what findings are judged by."""
        findings = expected(self.identifier).values()
        bounds = {abs(each[key]) for each in findings for key in ("lo", "hi") if key in each}
        self.assertEqual(bounds, {self.code.BAND})


#: 9000 B in 60 us, 18000 B in 70 us, and one that has not ended.
TRANSFERS: Sequence[Mapping[str, object]] = (
    {"workload": "background"},
    {"workload": "transfer", "size_bytes": 9000, "fct_sender_ps": 60_000_000},
    {"workload": "transfer", "size_bytes": 18000, "fct_sender_ps": 70_000_000},
    {"workload": "transfer", "size_bytes": 9000, "fct_sender_ps": ""},
    {"workload": "transfer", "size_bytes": 9000, "start_ps": ""},
)


class Tables(OfExperiment):
    """Transfers beside long-lived flows: a panel a distribution and load, a line a protocol."""

    identifier = "ndp-evaluation/tables2-9"

    def test_each_protocol_has_a_line_and_the_report_has_dots(self) -> None:
        """Two of three ended; the matched loads and the small network are not shown."""
        ends = ("ndp", "dctcp", "mptcp", "mptcp-uncoupled", "ndp-matched")
        for series in (*(f"web-4to1-{end}" for end in ends), "small-ndp"):
            self.run_of(f"{series}/seed-1", TRANSFERS)
        papers = {"NDP: completed": 3, "NDP: median": 65.0, "NDP: 95th percentile": 90.0}
        papers |= {"DCTCP: median, fastest path": 300.0, "MPTCP: median": 500.0}
        self.verdict(
            *({"name": f"Web 4:1, {name}", "paper": paper} for name, paper in papers.items()),
            tier="part",
        )
        (axes,) = [axes for axes in self.drawn().axes if axes.get_visible()]
        self.assertEqual(axes.get_title(loc="left"), "Web 4:1")
        ndp, *lines = axes.get_lines()
        self.assertEqual([round(float(x), 4) for x in ndp.get_xdata()], [0.06, 0.06, 0.07])
        self.assertEqual([round(float(y), 4) for y in ndp.get_ydata()], [0, 0.3333, 0.6667])
        dots = [line.get_xydata()[0].tolist() for line in lines if line.get_marker() == "o"]
        self.assertEqual(dots, [[0.065, 0.5], [0.09, 0.95], [0.3, 0.5], [0.5, 0.5]])
        # In MPTCP's colour, with a line of its own and without its dots.
        self.assertEqual([line.get_linestyle() for line in (lines[-3], lines[-1])], ["-", "--"])
        self.assertEqual(lines[-3].get_color(), lines[-1].get_color())

    def test_the_quick_tier_is_drawn(self) -> None:
        """It has a small network alone."""
        self.run_of("small-ndp/seed-1", TRANSFERS)
        self.assertEqual(self.drawn("quick").axes[0].get_title(loc="left"), "16 hosts")

    def test_absent_results_are_named(self) -> None:
        """A time that is none, a run without transfers, a series of another experiment."""
        self.run_of("web-4to1-ndp/seed-1", [{**TRANSFERS[1], "fct_sender_ps": "soon"}])
        self.refused("flows.csv: .*soon")
        self.run_of("web-4to1-ndp/seed-1", TRANSFERS[:1])
        self.refused("no flow of `transfer` began")
        self.run_of("web-2to1-ndp/seed-1", TRANSFERS)
        self.refused("no sizes and load: 'web-2to1-ndp'")


class Curves(OfExperiment):
    """Distributions of transfers beside long-lived flows, a panel a distribution and load."""

    identifier = "ndp-evaluation/figs4-7"

    def test_curves_have_the_points_of_the_report_and_their_distance(self) -> None:
        """Figures are in the report's order; a point that is not judged has no distance."""
        for series in ("web-4to1-ndp", "web-4to1-mptcp", "cache-4to1-ndp", "hadoop-4to1-ndp"):
            self.run_of(f"{series}/seed-1", TRANSFERS)
        judged = {"lo": 40.0, "hi": 60.0}
        self.verdict(
            {"name": "Web 4:1, NDP: ended within 62 us", "paper": 50.0, "ours": 33.0, **judged},
            {"name": "Web 4:1, NDP: ended within 80 us", "paper": 95.0, "ours": 70.6, **judged},
            {"name": "Web 4:1, MPTCP: ended within 900 us", "paper": 99.0, "ours": 66.0},
            tier="part",
        )
        web, hadoop, cache = [axes for axes in self.drawn().axes if axes.get_visible()]
        titles = [axes.get_title(loc="left") for axes in (web, hadoop, cache)]
        self.assertEqual(
            titles, ["Figure 5: Web 4:1", "Figure 6: Hadoop 4:1", "Figure 7: Cache 4:1"]
        )
        ndp = web.get_lines()[0]
        self.assertEqual([round(float(y), 4) for y in ndp.get_ydata()], [0, 0.3333, 0.6667])
        dots = [
            line.get_xydata()[0].tolist() for line in web.get_lines() if line.get_marker() == "o"
        ]
        self.assertEqual(dots, [[0.062, 0.5], [0.08, 0.95], [0.9, 0.99]])
        self.assertEqual([text.get_text() for text in web.texts], ["largest distance:\nNDP 24"])
        self.assertEqual(list(hadoop.texts), [])

    def test_the_quick_tier_is_drawn(self) -> None:
        """It has a small network alone."""
        self.run_of("small-ndp/seed-1", TRANSFERS)
        self.assertEqual(self.drawn("quick").axes[0].get_title(loc="left"), "16 hosts")


class Seeds(OfExperiment):
    """FCT by size, and how many transfers ended in each seed."""

    identifier = "ndp-evaluation/seeds50"

    def test_each_seed_is_drawn(self) -> None:
        """The stalled seed ended one transfer less."""
        self.run_of("webndp-4to1-mptcp/seed-1", TRANSFERS)
        self.refused("no series with or without a bank")
        for seed in (1, 2):
            self.run_of(f"cache-4to1-bank/seed-{seed}", TRANSFERS)
        self.run_of("cache-4to1-no-bank/seed-1", TRANSFERS[:2])
        self.run_of("cache-4to1-no-bank/seed-2", TRANSFERS)
        figure = self.drawn()
        left, right = figure.axes
        # Two sizes of two seeds, and a line for the name of each size.
        self.assertEqual(len(left.get_lines()), 6)
        self.assertEqual(left.get_legend_handles_labels()[1], ["9 KB", "18 KB"])
        kept, discarded = right.get_lines()
        self.assertEqual(list(kept.get_ydata()), [2, 2])
        self.assertEqual(list(discarded.get_ydata()), [2, 1])


class Others(OfExperiment):
    """Numbers of figures that others share."""

    def test_fastlane_times_are_relative_to_the_base(self) -> None:
        """By place, and by how many percent; each size says its quantile."""
        self.identifier = "fastlane/fig06"
        for place, us in ((20, 50.0), (40, 300.0)):
            for series, scale in (("tcp", 1.0), ("fl-fh", us / 100), ("fl-ps", 1.0)):
                asked: list[tuple[Mapping[str, object], float]] = [
                    (
                        {
                            "quantity": "fct",
                            "unit": "us",
                            "reduce": "p99",
                            "size_bytes": {"from": 1000 * size, "below": 1000 * size + 1},
                        },
                        100 * scale,
                    )
                    for size in self.code.SIZES
                ]
                long = {"quantity": "fct", "workload": "long", "reduce": "mean", "unit": "ms"}
                self.run_of(f"{series}-{place}/seed-1", measures=[*asked, (long, 8.0)])
        flow_hashing, _, long_flows = self.drawn().axes
        line = flow_hashing.lines[0]
        self.assertEqual(line.get_xydata().tolist(), [[20, -50], [40, 200]])
        self.assertEqual(line.get_label(), "2 KB, p99")
        self.assertEqual(list(long_flows.lines[0].get_ydata()), [0, 0])

    def test_hull_waits_are_beyond_the_ideal(self) -> None:
        """Beyond the ideal: mean, and the 99th percentile by nearest rank."""
        self.identifier = "hull/fig09"
        probe = {"workload": "probe", "ideal_fct_ps": 10**6}
        flows = [{**probe, "fct_receiver_ps": (n + 1) * 10**6} for n in range(100)]
        flows.append({"workload": "flows", "measured_bytes": 1_000_000})
        for series in ("mtu-1500", "mtu-300"):
            self.run_of(f"{series}/senders=2/seed-1", flows)
        waits, goodputs = self.drawn().axes
        self.assertEqual([line.get_ydata()[0] for line in waits.lines[:2]], [49.5, 98])
        self.assertEqual(goodputs.lines[0].get_ydata()[0], 800)

    def test_flows_that_every_scheme_ended_are_compared(self) -> None:
        """Of large flows those that every scheme has ended; a small one may not have."""
        self.identifier = "beyond/same-work"
        layer = {"time_ps": 1, "layer": "tor down", "queue_bytes_max": 9000}
        keys = ("utilisation", "stopped", "queue_bytes_mean", "data_queue_bytes_mean")
        samples = [
            {**layer, **dict.fromkeys(keys, 0)},
            {**layer, "layer": "host", "queue_bytes_max": 1},
        ]
        for scheme, times in (("ndp", (10, 30)), ("dctcp", (20, ""))):
            large = [
                {"index": n, "size_bytes": 10**6, "fct_receiver_ps": time and int(time) * 10**6}
                for n, time in enumerate(times)
            ]
            small = {"size_bytes": 9000, "fct_receiver_ps": 10**6, "measured_bytes": 9000}
            flows = [
                {**flow, "workload": "flows"} for flow in (*large, small, {**small, "index": 8})
            ]
            tables, ports = {"series": samples}, {"dropped": 50}
            self.run_of(f"fig12-{scheme}/seed-1", flows, tables=tables, ports=ports)
        found = self.code.rows(self.read())
        self.assertEqual([row.scheme for row in found], ["ndp", "dctcp"])
        self.assertEqual([row.large_us for row in found], [10, 20])
        self.assertEqual([row.small_us for row in found], [(1.0, 1.0, 1.0)] * 2)
        self.assertEqual((found[0].dropped_percent, found[0].largest_queue_kb), (5.0, 9.0))
        self.assertIn("| fig12 | NDP | 1 | 1 | 1 | 10 |", self.code.table(found))
        self.drawn()
