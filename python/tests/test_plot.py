"""Figures from made-up results: what is read, what is refused, and the generic plots."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from matplotlib import pyplot
from matplotlib.text import Annotation

from tests.made import EXPERIMENTS, Made
from trimline.plot import Ideal, MalformedResult, Run, draw, figure_of, plots
from trimline.plot.__main__ import main
from trimline.plot.finish import finish


class Reading(Made):
    """What is read of a result, and what is refused."""

    identifier = "a/b"

    def test_numbers_of_a_run_are_read(self) -> None:
        """Goodputs, times, waits for what did not end, and a place in the sweep."""
        flows = [
            {"measured_bytes": 12_500_000, "fct_receiver_ps": 3 * 10**9},
            {"workload": "x", "fct_receiver_ps": 10**9},
        ]
        self.run_of("s/n=8pkt,m=90KB/seed-1", flows)
        self.run_of("s/n=many,m=90KB/seed-2", [{"fct_receiver_ps": ""}])
        one, two = self.read()["s"]
        self.assertEqual(one.goodputs_gbps(), [10.0, 0.0])
        self.assertEqual(one.goodputs_gbps("w"), [10.0])
        self.assertEqual((one.fct_ms(), one.fct_ms("x"), one.last_ms()), ([1.0, 3.0], [1.0], 3.0))
        self.assertEqual((one.place("n"), one.place("m"), two.place("m")), (8.0, 90.0, 90.0))
        self.assertEqual((one.mean_goodput_gbps(), one.mean_goodput_percent()), (9.0, 90.0))
        for run, key in ((two, "n"), (one, "none")):
            with self.assertRaisesRegex(MalformedResult, f"no number at '{key}'"):
                run.place(key)
        with self.assertRaisesRegex(MalformedResult, "1 of 1 flows did not complete"):
            two.last_ms()
        with self.assertRaisesRegex(MalformedResult, r"no number `flows.none`"):
            one.number("flows", "none")
        with self.assertRaisesRegex(MalformedResult, r"latencies.csv is missing: .*output.latenc"):
            one.table("latencies")

    def test_measures_answer_findings(self) -> None:
        """The first that has the asked keys; null is no number."""
        asked = [({"quantity": "fct", "reduce": "p99"}, 7.0), ({"quantity": "none"}, None)]
        self.run_of("s/seed-1", measures=asked)  # type: ignore[arg-type]
        (run,) = self.read().runs
        self.assertEqual(run.answer(quantity="fct"), 7.0)
        for wanted in ({"quantity": "none"}, {"quantity": "fct", "reduce": "p50"}):
            with self.assertRaisesRegex(MalformedResult, "no number for"):
                run.answer(**wanted)

    def test_series_are_sorted_by_the_number_in_their_names(self) -> None:
        """In the order of numbers."""
        for name in ("a-10", "a-2", "a-b-3", "a-c"):
            self.run_of(f"{name}/seed-1")
        experiment = self.read()
        self.assertEqual(list(experiment.numbered("a")), [2.0, 10.0])
        self.assertEqual(list(experiment.numbered("a-b")), [3.0])
        self.assertEqual(experiment.only(["a-2", "a-c"]).series.keys(), {"a-2", "a-c"})
        self.assertEqual(experiment.get("b"), [])
        with self.assertRaisesRegex(MalformedResult, "no series 'b'"):
            experiment.needed("b")
        self.assertEqual(self.read("quick").needed("b"), [])

    def test_the_ideal_of_an_incast_is_computed(self) -> None:
        """450 KB as 50 packets of 7.2512 us; 15 KB as ten of 125.12 ns at 100 Gb/s."""
        flow = {"size_bytes": 450_000, "ideal_fct_ps": 404_816_000}
        self.run_of("a/seed-1", [flow])
        fast = {"rate_bps": 10**11, "payload_bytes": 1500}
        flow = {"size_bytes": 15_000, "ideal_fct_ps": 10 * 125_120 + 2_000_000}
        self.run_of("b/seed-1", [flow], link=fast)
        slow, fast_run = self.read().runs
        ideal = Ideal.of([slow])
        self.assertEqual(ideal, Ideal(450_000, 50 * 7_251_200, 42_256_000))
        self.assertAlmostEqual(ideal.ms(1) * 1e3, 404.816)
        self.assertAlmostEqual(ideal.over_percent(1.01 * ideal.ms(7), 7), 1.0)
        self.assertAlmostEqual(Ideal.of([fast_run]).ms(20) * 1e9, 20 * 10 * 125_120 + 2_000_000)
        self.assertAlmostEqual(fast_run.link_percent(50), 50)
        self.assertAlmostEqual(fast_run.host_link.full_gbps, 100 * 1500 / 1564)
        with self.assertRaisesRegex(MalformedResult, "flows of one size"):
            Ideal.of([slow, fast_run])

    def test_an_empty_folder_names_the_command_to_run(self) -> None:
        """An empty folder says what to run."""
        self.refused("trimline reproduce a/b")

    def test_a_folder_without_results_is_refused(self) -> None:
        """No manifest, one of another program, a run that was stopped, nothing measured."""
        folder = self.run_of("s/seed-1")
        manifest, summary = folder / "manifest.json", folder / "summary.json"
        for path, key, value, words in (
            (manifest, "host_link", 7, "manifest.json: no usable host_link"),
            (manifest, "host_link", {"rate_bps": 1}, "manifest.json: no usable host_link"),
            (summary, "interrupted", True, "stopped before its end"),
            (summary, "measured_ps", 0, "nothing was measured"),
        ):
            text = path.read_text(encoding="utf-8")
            path.write_text(json.dumps(json.loads(text) | {key: value}), encoding="utf-8")
            self.refused(words)
            path.write_text(text, encoding="utf-8")
        manifest.unlink()
        self.refused("no manifest.json; a result without one is not drawn")

    def test_an_invalid_number_is_named(self) -> None:
        """File and field."""
        self.run_of("s/seed-1", [{}, {"measured_bytes": "many"}])
        with self.assertRaisesRegex(MalformedResult, r"flows.csv: .*many"):
            self.read().runs[0].goodputs_gbps()

    def test_a_verdict_of_another_experiment_is_refused(self) -> None:
        """Findings of another experiment are not drawn."""
        self.run_of("s/seed-1")
        self.verdict()
        path = self.folder / "findings.json"
        path.write_text(path.read_text(encoding="utf-8").replace("a/b", "a/c"), encoding="utf-8")
        self.refused("of a/c, not of a/b")


class Plots(Made):
    """The generic plots, by what is on their axes."""

    identifier = "a/b"

    def test_a_line_is_the_mean_over_seeds(self) -> None:
        """With a band that holds all of them, or with an interval."""
        for number, means in ((10, (1.0, 3.0)), (2, (5.0,))):
            for seed, mean in enumerate(means, start=1):
                self.run_of(f"s/n={number}/seed-{seed}", goodput_gbps={"mean": mean})
        places = plots.by(self.read()["s"], "n")
        _, (left, right) = plots.panels(1, 2)
        drawn = plots.line(left, places, Run.mean_goodput_gbps, band=True, color="red")
        self.assertEqual(drawn, ([2.0, 10.0], [5.0, 2.0]))
        band, _ = left.collections
        ends = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
        self.assertLessEqual({(10.0, 1.0), (10.0, 3.0), (2.0, 5.0)}, ends)
        plots.line_with_intervals(right, places, Run.mean_goodput_gbps)
        bars, _ = right.containers
        self.assertEqual(list(right.lines[0].get_ydata()), [5.0, 2.0])
        low, high = bars[2][0].get_segments()[1][:, 1]
        # Student's t of two seeds.
        self.assertAlmostEqual(high - low, 2 * 12.706, places=3)

    def test_distributions_and_ranks_are_drawn(self) -> None:
        """A line ends below the top where some did not end; ranks need as many flows."""
        _, (cdf, longer, rank) = plots.panels(1, 3)
        plots.cdf(cdf, [3.0, 1.0], 4)
        self.assertEqual(cdf.lines[0].get_xydata().tolist(), [[1, 0], [1, 0.25], [3, 0.5]])
        plots.cdf(longer, [3.0, 1.0], longer=True)
        self.assertEqual(longer.lines[0].get_xydata().tolist(), [[1, 1], [3, 0.5]])
        self.assertEqual(plots.rank(rank, [[3.0, 1.0], [2.0, 6.0]]), [1.5, 4.5])
        with self.assertRaisesRegex(MalformedResult, "x: seeds differ in their number of flows"):
            plots.rank(rank, [[1.0], [1.0, 2.0]], label="x")

    def test_slowdowns_are_grouped_by_size(self) -> None:
        """Four ranges a decade, the median and the 99th percentile by nearest rank."""
        sizes = [1, 1, 999, 1001]
        flows = [
            {"size_bytes": size, "ideal_fct_ps": 10, "fct_receiver_ps": 10 * (n + 1)}
            for n, size in enumerate(sizes)
        ]
        self.run_of("s/seed-1", [*flows, {"size_bytes": 5, "ideal_fct_ps": 1}])
        _, axes = plots.panels()
        plots.slowdowns(axes, self.read().runs[0])
        median, tail = ([list(line.get_xdata()), list(line.get_ydata())] for line in axes.lines)
        self.assertEqual(median[1], [1.5, 3, 4])
        self.assertEqual(tail[1], [2, 3, 4])
        self.assertAlmostEqual(median[0][1], 1000)
        self.assertAlmostEqual(median[0][2], 1000 * 10**0.25)

    def test_bars_are_drawn_in_groups(self) -> None:
        """Beside each other at their tick; a value that is missing leaves its place."""
        _, axes = plots.panels()
        series = [("a", [1.0, 2.0], "red"), ("b", [None, None], "blue"), ("c", [None, 3.0], "tan")]
        plots.bars(axes, ["x", "y"], series, width=0.2)
        places = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches]
        found = [(round(x, 6), height) for x, height in places]
        self.assertEqual(found, [(-0.1, 1.0), (0.9, 2.0), (1.1, 3.0)])

    def test_labels_at_line_ends_do_not_overlap(self) -> None:
        """However near the lines are, and also at the top."""
        _, (axes, crowded) = plots.panels(1, 2)
        for each, ends in ((axes, (1, 0.99, 0.98, 0.2)), (crowded, (0.5,) * 9)):
            each.set(ylim=(0, 1), xlim=(0, 1))
            for end in ends:
                each.plot([0, 1], [0.5, end], label=str(end))
        plots.named_at_ends(axes)
        heights = sorted(text.xyann[1] for text in axes.texts if isinstance(text, Annotation))
        self.assertEqual(len(heights), 4)
        self.assertTrue(all(b - a > 0.05 for a, b in pairwise(heights)), heights)
        self.assertLessEqual(heights[-1], 1)
        self.assertAlmostEqual(heights[0], 0.2)
        # A name that is far from its line is in the legend, as all others are.
        plots.named_at_ends(crowded)
        self.assertEqual(len(crowded.texts), 0)
        self.assertEqual(len(crowded.get_legend_handles_labels()[1]), 9)
        self.assertEqual(axes.get_legend_handles_labels()[1], [])

    def test_panels_without_data_are_removed(self) -> None:
        """With its row or column; what is left has the words of the axes that it shared."""
        figure, grid = plots.panels(2, 2, sharex=True, sharey=True)
        grid[0][0].axhline(1)
        for axes, name in ((grid[0][1], "a"), (grid[1][1], "b")):
            axes.plot([1, 2], [3, 4], label=name)
        for axes in grid[:, 0]:
            axes.set_ylabel("y")
        self.assertTrue(finish(figure))
        self.assertEqual(figure.axes, list(grid[:, 1]))
        self.assertEqual([axes.get_ylabel() for axes in figure.axes], ["y", "y"])
        self.assertEqual(figure.axes[0].get_gridspec().get_geometry(), (2, 1))
        (legend,) = figure.legends
        self.assertEqual([text.get_text() for text in legend.get_texts()], ["a", "b"])
        self.assertFalse(finish(plots.panels()[0]))


class Default(Made):
    """An experiment without figure.py: its runs say what is drawn."""

    identifier = "a/b"
    FCT = ({"quantity": "fct", "reduce": "p99", "unit": "us"}, 7.0)
    QUEUE = ({"quantity": "queue_bytes", "size_bytes": {"from": 2000, "below": None}}, 3.0)

    def test_a_sweep_is_lines_over_its_key(self) -> None:
        """A panel a number, a line a series; a word is no place."""
        for series in ("ndp", "x"):
            for number in (2, 10):
                name = f"{series}/n={number},kind=word/seed-1"
                self.run_of(name, measures=[self.FCT, self.QUEUE])
        left, right = self.drawn().axes
        self.assertEqual([left.get_ylabel(), left.get_xlabel()], ["FCT p99 (µs)", "n"])
        self.assertEqual(right.get_ylabel(), "queue bytes from 2 KB")
        self.assertEqual([len(axes.lines) for axes in (left, right)], [2, 2])
        self.assertEqual(list(right.lines[0].get_xdata()), [2.0, 10.0])

    def test_many_flows_are_drawn_as_distributions(self) -> None:
        """As in a comparison, and without a finding too."""
        flow = {"size_bytes": 9000, "fct_receiver_ps": 10**8}
        self.run_of("ndp/seed-1", [{**flow, "fct_receiver_ps": 10**8 + n} for n in range(20)])
        path = self.folder / "runs/ndp/seed-1/flows.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        text = "\n".join([f"{lines[0]},slowdown", *(f"{line},2.0" for line in lines[1:])])
        path.write_text(text + "\n", encoding="utf-8")
        self.assertEqual(self.drawn().axes[0].get_ylabel(), "Flows (%)")

    def test_few_flows_are_drawn_as_bars(self) -> None:
        """The mean is over the seeds that measure it."""
        for series, values in (("ndp", (1.0, 3.0)), ("x", (5.0,))):
            for seed, value in enumerate(values, start=1):
                self.run_of(f"{series}/seed-{seed}", measures=[(self.FCT[0], value)])
        self.run_of("y/seed-1", measures=[])
        (axes,) = self.drawn().axes
        self.assertEqual([bar.get_width() for bar in axes.patches], [2.0, 5.0])
        self.assertEqual([tick.get_text() for tick in axes.get_yticklabels()], ["ndp", "x"])


class Command(Made):
    """`python3 -m trimline.plot`, and where it finds figure.py."""

    identifier = "a/b"

    def test_figures_are_written_next_to_the_runs(self) -> None:
        """It says which; with an unusable result it fails."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(main(["a/b", str(self.results)]), 1)
        self.assertIn("no flows.csv", said.getvalue())
        self.run_of("s/seed-1", measures=[Default.FCT])
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.assertEqual(main(["a/b", str(self.results)]), 0)
        drawn = [str(self.folder / f"a-b.{kind}") for kind in ("png", "pdf")]
        self.assertEqual(told.getvalue().splitlines(), drawn)
        text = Path(drawn[1]).read_bytes()
        self.assertNotIn(b"CreationDate", text)
        self.assertNotIn(b"/Type3", text)
        self.assertIn(b"/CIDFontType2", text)

    def test_a_figure_names_its_tier(self) -> None:
        """By other bytes."""
        self.run_of("s/seed-1", measures=[Default.FCT])
        full, quick, part = (
            draw(self.read(tier), self.results / tier)[0].read_bytes()
            for tier in ("full", "quick", "part")
        )
        self.assertEqual(len({full, quick, part}), 3)

    def test_a_user_library_of_figures_is_drawn(self) -> None:
        """One figure or several, by a figure that is like another."""
        library = self.results / "library"
        for name, text in {
            "b": "from trimline import plot\n\n\ndef figure(experiment):\n"
            '    like = plot.load(__file__, "a/c")\n'
            '    return {"": like.figure(experiment), "-all": like.figure(experiment)}\n',
            "c": "from trimline import plot\n\n\ndef figure(experiment):\n"
            "    figure, axes = plot.panels(title=experiment.identifier)\n"
            "    axes.plot([1, 2], [1, 2])\n"
            "    return figure\n",
        }.items():
            path = library / "a" / name / "figure.py"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        self.run_of("s/seed-1")
        words = ["a/b", str(self.results), "--experiments", str(library)]
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.assertEqual(main(words), 0)
        names = [Path(line).name for line in told.getvalue().splitlines()]
        self.assertEqual(names, ["a-b.png", "a-b.pdf", "a-b-all.png", "a-b-all.pdf"])
        # No bytecode stands beside the experiment.
        self.assertEqual(len(list(library.rglob("*.py*"))), 2)

    def test_another_process_at_another_time_draws_the_same_bytes(self) -> None:
        """Neither the order of hashes nor the clock is in a figure."""
        for series in ("ndp", "dctcp", "x"):
            self.run_of(f"{series}/seed-1", measures=[Default.FCT, Default.QUEUE])
        made = []
        for number in ("1", "2"):
            out = self.results / number
            environment = os.environ | {"PYTHONHASHSEED": number, "SOURCE_DATE_EPOCH": number}
            environment["PYTHONPATH"] = str(Path(__file__).parents[1])
            words = ["-m", "trimline.plot", "a/b", str(self.results), "--out", str(out)]
            subprocess.run(
                [sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL
            )
            made.append({path.name: path.read_bytes() for path in out.iterdir()})
        self.assertEqual(sorted(made[0]), ["a-b.pdf", "a-b.png"])
        self.assertEqual(made[0], made[1])

    def test_every_figure_of_the_clone_is_found(self) -> None:
        """Every figure.py has its function, and no experiment has the code of another name."""
        found = sorted(EXPERIMENTS.glob("*/*/figure.py"))
        self.assertGreater(len(found), 50)
        for path in found:
            identifier = "/".join(path.parts[-3:-1])
            self.assertTrue((path.parent / "scenario.toml").is_file(), identifier)
            self.assertTrue(callable(figure_of(identifier)), identifier)
        self.assertEqual(pyplot.get_fignums(), [])

    def test_a_figure_leaves_the_backend_of_pyplot_alone(self) -> None:
        """The pictures that a notebook draws behind it are shown; the figure shows itself."""
        script = (
            "import matplotlib; matplotlib.use('svg'); from trimline import plot\n"
            "figure, axes = plot.panels(); print(matplotlib.get_backend())\n"
            "print(figure._repr_png_()[1:4])\n"
        )
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        printed = subprocess.check_output([sys.executable, "-c", script], env=environment)
        self.assertEqual(printed.split(), [b"svg", b"b'PNG'"])
