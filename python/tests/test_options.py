"""Figures of NDP's options and of mixed packet sizes, from made-up results: the numbers shown."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import tomllib
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure

from trimline.plot import Experiment, MalformedResult, draw, options, style
from trimline.plot.figures import FIGURES
from trimline.plot.intervals import Change

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
COLUMNS = ["workload", "source", "destination", "size_bytes", "start_ps", "fct_receiver_ps"]
COLUMNS += ["fct_sender_ps", "ideal_fct_ps", "measured_bytes"]
#: Of two seeds the interval is that many halves of their difference to either side.
STUDENT = 12.706


def expected(identifier: str) -> dict[str, Any]:
    """The findings of an experiment by name, as the repository has them."""
    text = (EXPERIMENTS / identifier / "expected.toml").read_text(encoding="utf-8")
    return {finding["name"]: finding for finding in tomllib.loads(text)["finding"]}


def texts(figure: Figure) -> list[str]:
    """All words beside dots and on lines."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]


class Made(unittest.TestCase):
    """Made-up results of one experiment."""

    identifier = ""
    #: Of its findings.json.
    findings: tuple[Mapping[str, object], ...] = ()

    def setUp(self) -> None:
        """A folder for them."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.addCleanup(pyplot.close, "all")

    def run_of(
        self,
        name: str,
        flows: Sequence[Mapping[str, object]] = ({},),
        **summary: object,
    ) -> None:
        """A run as the simulator leaves it; `name` is series, point and seed."""
        folder = self.folder / self.identifier / "runs" / name
        folder.mkdir(parents=True)
        common = {"workload": "w", "source": 1, "destination": 0, "start_ps": 0}
        with (folder / "flows.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            writer.writeheader()
            writer.writerows({**common, "measured_bytes": 0, **flow} for flow in flows)
        parts = name.split("/")
        whole = {"series": parts[0], "seed": int(parts[-1].removeprefix("seed-"))}
        whole |= {"measured_ps": 10**10, "interrupted": False, **summary}
        (folder / "summary.json").write_text(json.dumps(whole), encoding="utf-8")
        link = {"rate_bps": 10**10, "payload_bytes": 9000, "header_bytes": 64}
        (folder / "manifest.json").write_text(json.dumps({"host_link": link}), encoding="utf-8")

    def read(self, tier: str = "full") -> Experiment:
        """The experiment, of a tier."""
        verdict = {"id": self.identifier, "tier": tier, "findings": list(self.findings)}
        path = self.folder / self.identifier / "findings.json"
        path.write_text(json.dumps(verdict), encoding="utf-8")
        return Experiment.read(self.folder, self.identifier)

    def drawn(self, tier: str = "full") -> Figure:
        """Drawn twice, the same bytes; gives the figure."""
        made = [draw(self.read(tier), self.folder / folder) for folder in ("once", "again")]
        for one, other in zip(*made, strict=True):
            self.assertGreater(one.stat().st_size, 5_000)
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)
        with pyplot.rc_context(style.SETTINGS):
            return FIGURES[self.identifier](self.read(tier))

    def refused(self, words: str, tier: str = "full") -> None:
        """Fails with these words, which name what is missing."""
        with self.assertRaisesRegex(MalformedResult, words):
            draw(self.read(tier), self.folder / "figures")

    def assert_measure(self, change: Change, mean: float, half: float | None) -> None:
        """Mean and half of the interval."""
        self.assertAlmostEqual(change.measure.mean, mean)
        if half is None or change.measure.half_width is None:
            self.assertEqual(change.measure.half_width, half)
        else:
            self.assertAlmostEqual(change.measure.half_width, half)


class SmallPackets(Made):
    """beyond/ndp-small-packets."""

    identifier = "beyond/ndp-small-packets"

    def goodput(self, series: str, *seeds: tuple[int, float]) -> None:
        """A series: its mean goodputs by seed."""
        for seed, gbps in seeds:
            self.run_of(f"{series}/seed-{seed}", goodput_gbps={"mean": gbps, "min": 1})

    def whole(self) -> None:
        """Every series: small packets have 10 and 12 % less, all three options 1 % more."""
        self.goodput("9000", (1, 8.0), (2, 9.0))
        for payload in options.GOALS:
            for option in options.SMALL:
                factors = (1.01, 1.01) if option == "-all" else (0.9, 0.88)
                self.goodput(f"{payload}{option}", (1, 8 * factors[0]), (2, 9 * factors[1]))

    def test_percent_against_9000(self) -> None:
        """Seed by seed, then the mean: what a seed does to both is no part of the interval."""
        self.whole()
        found = options.small_changes(self.read())
        self.assertEqual([len(changes) for changes in found.values()], [5, 5])
        self.assert_measure(found[750][""], -11, STUDENT)
        self.assert_measure(found[1500]["-all"], 1, 0)
        figure = self.drawn()
        for axes, goal in zip(figure.axes, (-6, -12), strict=True):
            self.assertIn(f"goal: at most {-goal} % less", [each.get_text() for each in axes.texts])
            lines = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
            self.assertEqual(lines, [goal])
        self.assertEqual(texts(figure).count("\N{MINUS SIGN}11.0 ± 12.7"), 8)
        self.assertEqual(texts(figure).count("+1.00 ± 0.00"), 2)

    def test_seeds_that_are_missing(self) -> None:
        """Only those that both have are compared; of one there is no interval."""
        self.goodput("9000", (1, 8.0), (2, 9.0))
        self.goodput("1500", (2, 8.1), (3, 1.0))
        found = options.small_changes(self.read("quick"))
        self.assertEqual(list(found), [1500])
        self.assert_measure(found[1500][""], -10, None)
        figure = self.drawn("quick")
        self.assertEqual(texts(figure)[1:], ["\N{MINUS SIGN}10.0"])
        self.assertIn("1 seed, no intervals", figure.get_suptitle())
        self.goodput("750", (4, 8.1))
        self.refused("'750' and '9000' have no seed in common", "quick")

    def test_series_that_are_missing(self) -> None:
        """A whole result has them all; without 9000 B nothing can be said of a part either."""
        self.goodput("1500", (1, 8.1))
        self.refused("no series '9000'", "quick")
        self.goodput("9000", (1, 9.0))
        self.refused("no series '1500-window'")

    def test_goals(self) -> None:
        """They are those that findings are judged by."""
        findings = expected(self.identifier)
        for payload, goal in options.GOALS.items():
            name = f"goodput, {payload} B, all three, against 9000 B"
            self.assertEqual(findings[name]["lo"], goal)


class CongestedCores(Made):
    """beyond/ndp-congested-cores."""

    identifier = "beyond/ndp-congested-cores"

    def work(
        self, name: str, seed: int, trimmed: int, resent: int, times: Sequence[int | str]
    ) -> None:
        """Writes a run: trimmed and resent packets of 1000, FCTs in us, and a late flow."""
        flows = [{"fct_receiver_ps": us and int(us) * 10**6} for us in times]
        if name.startswith("web"):
            flows.append({"start_ps": 40 * 10**9, "fct_receiver_ps": 10**12})
        self.run_of(
            f"{name}/seed-{seed}",
            flows,
            ports={"trimmed": trimmed},
            packets_sent=1000,
            packets_delivered=500,
            retransmissions={"nack": resent, "return": 0, "timeout": 0},
        )

    def whole(self) -> None:
        """Trims are a half and an eighth by seed, retransmissions a fifth; the tail doubles."""
        for work in options.WORKS:
            for seed, part in ((1, 2), (2, 8)):
                self.work(f"{work.series}-paper", seed, 400, 500, [*[100] * 98, 300, 400])
                times = [*[50] * 98, 600, 700]
                self.work(f"{work.series}-core-rate", seed, 400 // part, 100, times)

    def test_quotients(self) -> None:
        """The mean of a half and an eighth is a quarter, and the interval is one of doublings."""
        self.whole()
        found = options.core_ratios(self.read())
        self.assertEqual(list(found), ["web-4", "web-8", "permutation-8"])
        trims, again, median, tail = found["web-4"]
        self.assertAlmostEqual(trims.quotient, 0.25)
        self.assert_measure(trims.change, -2, STUDENT)
        self.assertAlmostEqual(again.quotient, 0.2)
        self.assertAlmostEqual(median.quotient, 0.5)
        # The 99th of a hundred; the flow that began late is not counted.
        self.assertAlmostEqual(tail.quotient, 2)
        self.assertEqual([row.goal for row in found["web-4"]], [0.5, None, 1, 1])
        # One packet in five, of one a packet.
        self.assertAlmostEqual(found["permutation-8"][1].goal or 0, 0.2)
        self.assertEqual(options.from_to(trims), "40 \N{RIGHTWARDS ARROW} 12.5 %")
        self.assertEqual(options.from_to(again), "1 \N{RIGHTWARDS ARROW} 0.200 a packet")
        self.assertEqual(options.from_to(tail), "300 \N{RIGHTWARDS ARROW} 600 µs")

    def test_halving_is_as_far_as_doubling(self) -> None:
        """On the axis, and its marks are words."""
        self.whole()
        figure = self.drawn()
        axes = figure.axes[-1]
        half, same, twice = (axes.transData.transform((x, 0))[0] for x in (0.5, 1, 2))
        self.assertAlmostEqual(twice - same, same - half)
        figure.canvas.draw()
        labels = [label.get_text() for label in axes.get_xticklabels()]
        self.assertEqual(labels[labels.index("1/4") :][:4], ["1/4", "half", "the same", "twice"])

    def test_flows_that_did_not_end(self) -> None:
        """They are the slowest; where they are more than one in a hundred there is no quantile."""
        for name in ("permutation-8-paper", "permutation-8-core-rate"):
            self.work(name, 1, 400, 500, [*[100] * 98, 300, ""])
        self.assertEqual(options.core_ratios(self.read("quick"))["permutation-8"][3].quotient, 1)
        self.work("permutation-8-core-rate", 2, 400, 500, [*[100] * 98, "", ""])
        self.work("permutation-8-paper", 2, 400, 500, [*[100] * 98, 300, 400])
        self.refused("fewer than 99 % of the flows ended", "quick")

    def test_nothing_is_no_quotient(self) -> None:
        """A series that trims nothing stands nowhere on the axis."""
        self.work("web-4-paper", 1, 400, 500, [1])
        self.work("web-4-core-rate", 1, 0, 500, [1])
        self.refused("'web-4-core-rate': nothing that has a quotient", "quick")

    def test_flows_without_a_start(self) -> None:
        """File and columns of a table that says too little."""
        for name in ("web-4-paper", "web-4-core-rate"):
            self.work(name, 1, 400, 500, [1])
            path = self.folder / self.identifier / "runs" / name / "seed-1" / "flows.csv"
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("start_ps", "begin"), encoding="utf-8")
        self.refused("flows.csv: no usable start_ps", "quick")

    def test_one_seed(self) -> None:
        """The quick tier has one work and one seed: no interval."""
        for name in ("permutation-8-paper", "permutation-8-core-rate"):
            self.work(name, 1, 400, 500, [100])
        figure = self.drawn("quick")
        self.assertEqual(len(figure.axes), 1)
        self.assertIn("1 seed, no intervals", figure.get_suptitle())
        self.refused("no series 'web-4-paper'")

    def test_goals(self) -> None:
        """They are those that findings are judged by."""
        findings = expected(self.identifier)
        for work, words in zip(
            options.WORKS, ("web traffic 4:1", "web traffic 8:1", "permutation 8:1"), strict=True
        ):
            trimmed = findings[f"{words}: trimmed, against the paper's"]
            self.assertEqual(trimmed["series"], f"{work.series}-core-rate")
            self.assertEqual(trimmed["hi"] / 100 + 1, options.HALF)
            median = findings[f"{words}: median, against the paper's"]
            self.assertEqual(median["hi"] / 100 + 1, options.NO_WORSE)
            before = median["measure"].get("started_before_us")
            self.assertEqual(before and before / 1e3, work.before_ms if before else None)
            resent = findings[f"{words}: resent, at the core's rate"]
            self.assertEqual(resent.get("hi"), work.resent)


class MixedSizes(Made):
    """beyond/mixed-mtu."""

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

    def whole(self) -> None:
        """Four transports, NDP with turns too, each with and without small packets, two seeds."""
        for seed in (1, 2):
            for name in options.MIXED:
                self.goodput(name, seed, [70 + 2 * seed, 80], [10, 20])
            for transport in {transport for transport, _ in options.MIXED.values()}:
                self.goodput(f"{transport}-all-large", seed, [40, 50], [40, 48])

    def test_by_payload(self) -> None:
        """Mean and slowest of each workload, and their intervals over the seeds."""
        self.whole()
        found = options.mixed_goodputs(self.read())
        self.assertEqual(len(found), 11)
        ours = found["ndp"]["large"]
        # Means of 76 and 77, slowest of 72 and 74.
        self.assertAlmostEqual(ours.mean.mean, 76.5)
        self.assertAlmostEqual(ours.mean.half_width or 0, STUDENT / 2)
        self.assertAlmostEqual(ours.slowest.mean, 73)
        self.assertAlmostEqual(ours.slowest.half_width or 0, STUDENT)
        self.assertAlmostEqual(found["dcqcn"]["small"].mean.mean, 15)
        self.assertAlmostEqual(found["dcqcn-all-large"]["small"].slowest.mean, 40)
        figure = self.drawn()
        self.assertIn("2 seeds, lines: 95 % intervals", figure.get_suptitle())
        left = [text.get_text() for text in figure.axes[0].texts]
        self.assertEqual(left[1:], ["76", "15"] * 7)

    def test_the_quick_tier(self) -> None:
        """It has few hosts and nothing beside them."""
        self.goodput("small-ndp", 1, [81], [14])
        figure = self.drawn("quick")
        self.assertEqual([text.get_text() for text in figure.axes[0].texts][1:], ["81", "14"])
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        self.assertEqual(labels, ["NDP, 16 hosts"])
        self.refused("no series 'ndp'")

    def test_what_is_missing(self) -> None:
        """A series, a workload, or everything that could be drawn."""
        self.goodput("ndp", 1, [70], [10])
        self.refused("no series 'ndp-all-large'")
        self.goodput("ndp-all-large", 1, [40], [])
        self.refused("no flow of workload 'small'")

    def test_a_part_without_a_transport(self) -> None:
        """Nothing to show."""
        self.goodput("ndp-all-large", 1, [40], [40])
        self.refused("no transport with both packet sizes", "part")


class OptionsCost(Made):
    """beyond/ndp-options-cost."""

    identifier = "beyond/ndp-options-cost"

    def incast(self, series: str, senders: int, *last_us: int | str) -> None:
        """A seed each: the last of two flows."""
        for seed, us in enumerate(last_us, start=1):
            flows = [{"fct_receiver_ps": us and int(us) * 10**6}, {"fct_receiver_ps": 10**6}]
            self.run_of(f"{series}/senders={senders}/seed-{seed}", flows)

    def whole(self) -> None:
        """Goodput falls by 1 and 3 %; the last flow takes a tenth longer with few senders."""
        for seed in (1, 2):
            for option, gbps in (("paper", 9.0), ("core", 9.0), ("small", 9.09 - 0.18 * seed)):
                self.run_of(f"fig14-{option}/seed-{seed}", goodput_gbps={"mean": gbps, "min": 1})
        for senders in (101, 11):
            for option in ("paper", "small", "core"):
                slow = option == "core" and senders == 11
                self.incast(f"fig16-{option}", senders, *([1100, 1120] if slow else [1000, 1000]))
        for option in ("paper", "small", "core"):
            self.incast(f"fig20-{option}", 8000, 2000 if option == "paper" else 2004)

    def test_percent(self) -> None:
        """By figure, senders and options; one seed has no interval."""
        self.whole()
        found = options.option_costs(self.read())
        self.assert_measure(found["fig14"][None]["small"], -2, STUDENT)
        self.assert_measure(found["fig14"][None]["core"], 0, 0)
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
        self.assertIn("\N{MINUS SIGN}2.0 ± 12.7", texts(figure))
        self.assertIn("+11.0 ± 12.7", texts(figure))
        self.assertEqual(texts(figure).count("+0.20"), 2)

    def test_a_part(self) -> None:
        """The quick tier has one figure of the three, which a whole result must have."""
        for option in ("paper", "small", "core"):
            self.incast(f"fig16-{option}", 11, 1000)
        self.assertEqual(len(self.drawn("quick").axes), 1)
        self.refused("no series 'fig14-paper'")

    def test_nothing_to_compare_with(self) -> None:
        """An option without the paper's."""
        self.incast("fig16-small", 11, 1000)
        self.refused("no figure with and without options", "part")

    def test_other_senders(self) -> None:
        """A point that one of two series lacks is not passed over."""
        self.incast("fig16-paper", 11, 1000)
        self.incast("fig16-paper", 101, 1000)
        self.incast("fig16-core", 11, 1000)
        self.refused("fig16-core and fig16-paper differ in senders", "quick")

    def test_a_flow_that_did_not_end(self) -> None:
        """There is no last flow."""
        self.incast("fig16-paper", 11, 1000)
        self.incast("fig16-core", 11, "")
        self.refused("1 of 2 flows did not complete", "quick")

    def test_the_band(self) -> None:
        """It is what findings are judged by."""
        findings = expected(self.identifier).values()
        bounds = {abs(each[key]) for each in findings for key in ("lo", "hi") if key in each}
        self.assertEqual(bounds, {options.BAND})


class Alone(unittest.TestCase):
    """Figures without the compiled package."""

    def test_figures_need_no_compiled_module(self) -> None:
        """`make demo` draws without it."""
        script = "import sys; sys.modules['trimline._core'] = None; import trimline.plot.__main__"
        asked = subprocess.run(
            [sys.executable, "-c", script],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(asked.returncode, 0, asked.stderr)


if __name__ == "__main__":
    unittest.main()
