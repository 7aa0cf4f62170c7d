"""Figures from made-up results: what is read, what is refused, and that the bytes repeat."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from matplotlib import pyplot
from matplotlib.text import Annotation
from trimline.plot.lines import direct
from trimline.plot.results import read_run

from trimline.plot import Experiment, MalformedResult, draw, figures, style
from trimline.plot.__main__ import main
from trimline.plot.figures import rarest_workload
from trimline.plot.incast import Ideal

COLUMNS = ["workload", "index", "source", "destination", "size_bytes", "start_ps"]
COLUMNS += ["fct_receiver_ps", "ideal_fct_ps", "measured_bytes", "end"]

#: The links of hosts, with the base model's numbers.
HOST_LINK = {"rate_bps": 10**10, "payload_bytes": 9000, "header_bytes": 64}
#: 450 KB as 50 packets of 7.2512 us each, and 5 x 7.2512 + 6 us of way.
IDEAL = Ideal(450_000, 50 * 7_251_200, 42_256_000)


def write_run(folder: Path, series: str, seed: int, rows: Sequence[Mapping[str, object]]) -> None:
    """A run as the simulator leaves it, with the columns that figures read."""
    folder.mkdir(parents=True)
    with (folder / "flows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        default = {"workload": "all", "destination": 0, "measured_bytes": 0}
        writer.writerows({**default, **row} for row in rows)
    summary = {"series": series, "seed": seed, "measured_ps": 10**10, "interrupted": False}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    manifest = json.dumps({"host_link": HOST_LINK})
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")


class Style(unittest.TestCase):
    """Names and colours of series."""

    def test_known(self) -> None:
        """A series is named after its protocol, or after NDP's switch profile."""
        self.assertEqual(style.name_of("ndp-iw23"), "NDP iw23")
        self.assertEqual(style.name_of("htsim"), "NDP, profile htsim")
        self.assertEqual(style.name_of("dctcp-100"), "DCTCP, queues of 100")
        self.assertEqual(style.colour_of("mptcp"), style.GREEN)

    def test_unknown(self) -> None:
        """An unknown series keeps its own name, and takes the colour of no protocol."""
        for series in ("paced", "swift", "no-such-thing"):
            self.assertEqual(style.name_of(series), series)
            self.assertNotIn(style.colour_of(series), style.PROTOCOLS.values())


class Results(unittest.TestCase):
    """A folder of made-up results for each test."""

    def setUp(self) -> None:
        """Makes the folder."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.reference = self.folder / "reference"
        self.reference.mkdir()

    def permutation(self, hosts: int = 24) -> None:
        """fig14: two seeds, and the authors' file."""
        for seed in (1, 2):
            rows = [
                {"source": host, "measured_bytes": 11_000_000 + 20_000 * host + 5_000 * seed}
                for host in range(hosts)
            ]
            write_run(self.folder / f"ndp/fig14/runs/ndp/seed-{seed}", "ndp", seed, rows)
        lines = ["rank,ndp_gbps,dctcp_gbps"]
        lines += [f"{rank},{8.8 + rank / 40},{1 + rank / 5}" for rank in range(hosts)]
        path = self.reference / "ndp-fig14-permutation-432.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def incast(self) -> None:
        """fig16: three sizes, two seeds, one preferred sender in a series of its own."""
        for count in (1, 11, 21):
            last = int(IDEAL.ms(count) * 1e9)
            for seed in (1, 2):
                rows: list[dict[str, object]] = [
                    {
                        "source": sender + 1,
                        "size_bytes": 450_000,
                        "ideal_fct_ps": 404_816_000,
                        "fct_receiver_ps": last - (count - 1 - sender) * 10**7 + seed * 10**6,
                    }
                    for sender in range(count)
                ]
                base = self.folder / "ndp/fig16/runs"
                write_run(base / f"ndp/senders={count}/seed-{seed}", "ndp", seed, rows)
                rows[0] |= {"workload": "preferred", "fct_receiver_ps": 420_000_000}
                name = "ndp-prioritised"
                if count > 1:
                    write_run(base / f"{name}/senders={count}/seed-{seed}", name, seed, rows)
        lines = ["senders,fct_min_s,fct_mid_s,fct_max_s"]
        lines += [f"{n},{IDEAL.ms(n) / 1100},0,{IDEAL.ms(n) / 999}" for n in (1, 11, 21)]
        path = self.reference / "ndp-fig16-incast-450KB-432.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def sharing(self) -> None:
        """fig21: a verdict with five findings."""
        write_run(self.folder / "ndp/fig21/runs/seed-1", "ndp", 1, [{"source": 0}])
        flows = {"A to B": 2.51, "A to C": 2.51, "A to D": 2.50, "A to E": 2.38, "F to E": 7.55}
        findings = [
            {"name": name, "paper": paper, "reference": None, "ours": paper * 0.99}
            | {"lo": paper * 0.97, "hi": paper * 1.03, "unit": "Gb/s", "holds": True}
            for name, paper in flows.items()
        ]
        verdict = {"id": "ndp/fig21", "findings": findings}
        path = self.folder / "ndp/fig21/findings.json"
        path.write_text(json.dumps(verdict), encoding="utf-8")

    def read(self, identifier: str) -> Experiment:
        """The experiment below the folder."""
        return Experiment.read(self.folder, identifier, self.reference)


class Drawing(Results):
    """Figures that are drawn."""

    def drawn_twice(self, identifier: str) -> Experiment:
        """Draws PNG and PDF two times and compares their bytes."""
        experiment = self.read(identifier)
        once = draw(experiment, self.folder / "once")
        again = draw(self.read(identifier), self.folder / "again")
        self.assertEqual({path.suffix for path in once}, {".png", ".pdf"})
        for one, other in zip(once, again, strict=True):
            self.assertGreater(one.stat().st_size, 5_000)
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)
        self.assertNotIn(b"CreationDate", once[1].read_bytes())
        self.assertNotIn(b"/Type3", once[1].read_bytes())
        self.assertIn(b"/CIDFontType2", once[1].read_bytes())
        return experiment

    def test_another_process_at_another_time_draws_the_same_bytes(self) -> None:
        """Neither the order of hashes nor the clock is in a figure."""
        self.incast()
        made = []
        for number in ("1", "2"):
            out = self.folder / number
            environment = os.environ | {"PYTHONHASHSEED": number, "SOURCE_DATE_EPOCH": number}
            environment["PYTHONPATH"] = str(Path(__file__).parents[1])
            words = ["-m", "trimline.plot", "ndp/fig16", str(self.folder), "--out", str(out)]
            subprocess.run(
                [sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL
            )
            made.append({path.name: path.read_bytes() for path in out.iterdir()})
        names = [f"ndp-fig16{all_of}.{form}" for all_of in ("-all", "") for form in ("pdf", "png")]
        self.assertEqual(sorted(made[0]), names)
        self.assertEqual(made[0], made[1])

    def test_the_quick_tier_is_said(self) -> None:
        """In the figure, by other bytes."""
        self.sharing()
        full = draw(self.read("ndp/fig21"), self.folder / "full")[0].read_bytes()
        path = self.folder / "ndp/fig21/findings.json"
        verdict = json.loads(path.read_text(encoding="utf-8")) | {"tier": "quick"}
        path.write_text(json.dumps(verdict), encoding="utf-8")
        experiment = self.read("ndp/fig21")
        self.assertEqual(experiment.tier, "quick")
        self.assertNotEqual(draw(experiment, self.folder / "quick")[0].read_bytes(), full)

    def test_permutation(self) -> None:
        """fig14 keeps our series and the published ones apart."""
        self.permutation()
        experiment = self.drawn_twice("ndp/fig14")
        self.assertEqual(list(experiment.series()), ["ndp"])
        self.assertEqual(len(experiment.runs), 2)
        self.assertEqual(experiment.reference["dctcp_gbps"][:2], [1.0, 1.2])
        self.assertAlmostEqual(experiment.runs[0].throughput_gbps()[0], 8.804)

    def test_incast(self) -> None:
        """fig16 knows the preferred sender by its workload."""
        self.incast()
        experiment = self.drawn_twice("ndp/fig16")
        preferred = experiment.series()["ndp-prioritised"][0]
        self.assertEqual(rarest_workload(preferred), "preferred")
        self.assertEqual(preferred.fct_ms("preferred"), [0.42])
        # A panel a question; every line has its words at its end, and none lie on others.
        figure = figures.fig16(experiment)
        self.assertEqual(len({axes.get_title(loc="left") for axes in figure.axes}), 4)
        for axes in figure.axes:
            words = [text for text in axes.texts if isinstance(text, Annotation)]
            self.assertGreater(len(words), 0)
            heights = sorted(text.xyann[1] for text in words)
            self.assertTrue(all(b - a > 0.05 for a, b in pairwise(heights)), heights)
        pyplot.close(figure)

    def test_words_at_the_ends_of_lines_keep_apart(self) -> None:
        """However near the lines are, and also at the top."""
        figure, axes = pyplot.subplots()
        axes.set(ylim=(0, 1), xlim=(0, 1))
        direct(axes, [(1, height, str(height), "#000000") for height in (1, 0.99, 0.98, 0.2)])
        heights = sorted(text.xyann[1] for text in axes.texts if isinstance(text, Annotation))
        self.assertEqual(len(heights), 4)
        self.assertTrue(all(b - a > 0.05 for a, b in pairwise(heights)), heights)
        self.assertLessEqual(heights[-1], 1)
        self.assertAlmostEqual(heights[0], 0.2)
        pyplot.close(figure)

    def test_sharing(self) -> None:
        """fig21 comes from the verdict."""
        self.sharing()
        experiment = self.drawn_twice("ndp/fig21")
        paper = [each.paper for each in experiment.findings]
        self.assertEqual(paper, [2.51, 2.51, 2.50, 2.38, 7.55])

    def test_command(self) -> None:
        """The command draws beside the runs, and says which files."""
        self.permutation()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = main(["ndp/fig14", str(self.folder), "--reference", str(self.reference)])
        self.assertEqual(status, 0)
        drawn = [str(self.folder / f"ndp/fig14/ndp-fig14.{kind}") for kind in ("png", "pdf")]
        self.assertEqual(said.getvalue().splitlines(), drawn)

    def test_ideal(self) -> None:
        """The ideal of one flow of 50 packets and of many, from what the runs say."""
        self.incast()
        runs = self.read("ndp/fig16").series()["ndp"]
        ideal = Ideal.of(runs)
        self.assertEqual(ideal, IDEAL)
        self.assertAlmostEqual(ideal.ms(1) * 1e3, 404.816)
        self.assertAlmostEqual(ideal.over_percent(1.01 * ideal.ms(7), 7), 1.0)

    def test_ideal_of_another_network(self) -> None:
        """15 KB in packets of 1500 B at 100 Gb/s, 125.12 ns each, on a way of 2 us."""
        flow = {"source": 1, "size_bytes": 15_000, "ideal_fct_ps": 10 * 125_120 + 2_000_000}
        folder = self.folder / "ndp/fig16/runs/ndp/seed-1"
        write_run(folder, "ndp", 1, [flow])
        link = {"rate_bps": 10**11, "payload_bytes": 1500, "header_bytes": 64}
        (folder / "manifest.json").write_text(json.dumps({"host_link": link}), encoding="utf-8")
        run = read_run(folder, self.folder)
        self.assertAlmostEqual(Ideal.of([run]).ms(20) * 1e9, 20 * 10 * 125_120 + 2_000_000)
        self.assertAlmostEqual(run.link_percent(50), 50)
        self.assertAlmostEqual(run.host_link.full_gbps, 100 * 1500 / 1564)


class Refusing(Results):
    """Results that are not drawn."""

    def assert_refused(self, identifier: str, words: str) -> None:
        """Reading or drawing fails with these words."""
        with self.assertRaisesRegex(MalformedResult, words):
            draw(self.read(identifier), self.folder / "figures")

    def test_no_results(self) -> None:
        """An empty folder says what to run."""
        self.assert_refused("ndp/fig14", "trimline reproduce ndp/fig14")

    def test_no_manifest(self) -> None:
        """A result without its manifest is not drawn."""
        self.permutation()
        (self.folder / "ndp/fig14/runs/ndp/seed-2/manifest.json").unlink()
        self.assert_refused("ndp/fig14", "manifest")

    def test_no_host_link(self) -> None:
        """A manifest that does not say what the links of hosts are is of another program."""
        self.permutation()
        for text in ("{}", '{"host_link": {"rate_bps": 1}}', '{"host_link": 7}'):
            path = self.folder / "ndp/fig14/runs/ndp/seed-2/manifest.json"
            path.write_text(text, encoding="utf-8")
            self.assert_refused("ndp/fig14", "manifest.json: no usable host_link")

    def test_unfinished_flow(self) -> None:
        """An incast with a flow that never ended has no last FCT."""
        write_run(
            self.folder / "ndp/fig16/runs/ndp/seed-1",
            "ndp",
            1,
            [{"source": 1, "size_bytes": 9000, "ideal_fct_ps": 49_507_200}],
        )
        self.assert_refused("ndp/fig16", "1 of 1 flows did not complete")

    def test_bad_number(self) -> None:
        """File and line of a field that is no number."""
        self.permutation()
        path = self.folder / "ndp/fig14/runs/ndp/seed-1/flows.csv"
        text = path.read_text(encoding="utf-8").replace("11025000", "many")
        path.write_text(text, encoding="utf-8")
        self.assert_refused("ndp/fig14", r"flows.csv:3: .*many")

    def test_interrupted(self) -> None:
        """A run that was stopped is no result."""
        self.permutation()
        folder = self.folder / "ndp/fig14/runs/ndp/seed-1"
        path = folder / "summary.json"
        summary = json.loads(path.read_text(encoding="utf-8")) | {"interrupted": True}
        path.write_text(json.dumps(summary), encoding="utf-8")
        with self.assertRaisesRegex(MalformedResult, "stopped before its end"):
            read_run(folder, self.folder)

    def test_verdict_of_another(self) -> None:
        """Findings of another experiment are not drawn."""
        self.sharing()
        path = self.folder / "ndp/fig21/findings.json"
        text = path.read_text(encoding="utf-8").replace("ndp/fig21", "ndp/fig20")
        path.write_text(text, encoding="utf-8")
        self.assert_refused("ndp/fig21", "of ndp/fig20, not of ndp/fig21")

    def test_verdict_without_values(self) -> None:
        """fig21 without findings has nothing to show."""
        self.sharing()
        (self.folder / "ndp/fig21/findings.json").unlink()
        self.assert_refused("ndp/fig21", "findings in Gb/s")

    def test_command_fails(self) -> None:
        """The command's exit status says that nothing was drawn."""
        for identifier, expected in (("ndp/fig14", 1), ("ndp/fig99", 2)):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                status = main([identifier, str(self.folder)])
            self.assertEqual(status, expected)
            self.assertIn("no f", said.getvalue())


if __name__ == "__main__":
    unittest.main()
