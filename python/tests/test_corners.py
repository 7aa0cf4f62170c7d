"""Results, tables and reports with names, seeds and numbers that few scenarios have."""

from __future__ import annotations

import io
import pickle
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars
import tomli_w

import trimline
from trimline import comparison, drawings, looks, reporting, worker
from trimline.results import Results, keyed
from trimline.scenario import toml_value

ONE: dict[str, Any] = {
    "name": "one",
    "topology": {"star": {"hosts": 4}},
    "transport": {"ndp": {}},
    "workload": [{"name": "w", "permutation": {}, "size": "90KB"}],
}


class InScratch(unittest.TestCase):
    """A folder of its own for each test."""

    def setUp(self) -> None:
        """Makes the folder."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name)


class Workers(unittest.TestCase):
    """The answers of a worker."""

    def test_a_truncated_answer_means_a_dead_worker(self) -> None:
        """Wherever it is cut."""
        answer = pickle.dumps({"flows.csv": b"1234" * 100, "summary.json": b"{}"})
        for end in range(len(answer)):
            with self.assertRaises(EOFError):
                worker.receive(io.BytesIO(answer[:end]))


class Frames(InScratch):
    """Frames of results."""

    def test_sums_of_counters_do_not_wrap(self) -> None:
        """Sums have 64 bits."""
        trimline.run(ONE, self.out)
        path = self.out / "seed-1/flows.csv"
        frame = polars.read_csv(path).with_columns(packets_sent=polars.lit(2_000_000_000))
        frame.write_csv(path)
        self.assertEqual(Results.read(self.out).flows["packets_sent"].sum(), 8_000_000_000)

    def test_a_terminal_shows_a_row_per_run(self) -> None:
        """Shows the first twenty, and how many more there are, like a notebook."""
        found = trimline.run(ONE, self.out, seeds="1..21")
        heading, head, first, *_, last = repr(found).splitlines()
        self.assertEqual(heading, f"Results({str(self.out)!r}, 21 runs)")
        self.assertRegex(head, "^run +flows +done +FCT p50 us +p99 us$")
        self.assertRegex(first, r"^seed 1 +4 +4 +[0-9.]+ +[0-9.]+$")
        self.assertEqual(last, "and 1 more runs")
        self.assertEqual(found._repr_html_().count("<tr>"), 21)

    def test_seeds_have_one_type(self) -> None:
        """On both sides of 2^31."""
        found = trimline.run(ONE, self.out, seeds=[1, 2**40]).flows
        self.assertEqual(found["seed"].unique(maintain_order=True).to_list(), [1, 2**40])

    def test_a_swept_key_leaves_columns_alone(self) -> None:
        """One that is named like a column of the frame has a name of its own."""
        swept = ONE | {"sweep": {"workload.w.size": ["9KB", "90KB"]}}
        run = trimline.run(swept, self.out)[0]
        frame = polars.LazyFrame({"size": [7], "seed_of": [1]})
        found = keyed(run, frame, {"size": polars.String}).collect()
        self.assertEqual(found["size"].to_list(), [7])
        self.assertEqual(found["swept_size"].to_list(), ["9KB"])

    def test_numpy_numbers_are_accepted(self) -> None:
        """Numbers of numpy and paths are taken as seeds and in settings."""
        found = trimline.run(ONE, self.out, seeds=list(np.arange(1, 3)))
        self.assertEqual([run.seed for run in found], [1, 2])
        self.assertEqual(toml_value([np.int64(3), Path("a/b")]), '[3, "a/b"]')

    def test_an_empty_list_of_series_is_refused(self) -> None:
        """An empty list is a mistake: earlier results are left alone."""
        trimline.run(ONE, self.out)
        with self.assertRaisesRegex(trimline.ScenarioError, "series is empty"):
            trimline.sweep(ONE, self.out, series=[])
        self.assertEqual(len(Results.read(self.out)), 1)


class Tables(InScratch):
    """Comparisons and intervals."""

    def test_a_series_may_be_named_like_a_transport(self) -> None:
        """The scenario's own series are left out, whatever their names."""
        series = [{"name": "ndp", "transport": {"ndp": {}}}, {"name": "x"}]
        inline = 'series = [{ name = "x" }] # no [[series]]\n' + tomli_w.dumps(ONE)
        for place, scenario in enumerate((tomli_w.dumps(ONE | {"series": series}), inline)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = trimline.compare(scenario, ["ndp", "dctcp"], self.out / str(place))
            self.assertEqual({run.series for run in found.results}, {"ndp", "dctcp"})

    def test_slowdowns_are_sorted_by_flow_size(self) -> None:
        """Whichever series has which sizes."""
        large, small = "slowdown median, 1–10 MB", "slowdown p99, ≤ 1 KB"  # noqa: RUF001
        found = comparison.rows_of(["flows", large, "time-outs", small])
        self.assertEqual(found, ["flows", small, large, "time-outs"])
        self.assertEqual(comparison.rows_of(["time-outs"]), ["time-outs"])

    def test_a_series_may_have_the_name_of_a_column(self) -> None:
        """The table's first column is `measure`."""
        table = comparison.table_of({"measure": [{"flows": 1.0}]})
        self.assertEqual(table.columns[:2], ["measure", "series measure"])


class Reports(InScratch):
    """The contents of a report."""

    def test_values_are_sorted_by_size_with_words_last(self) -> None:
        """Numbers and a word under one key."""
        labels = {"10", "4", "bdp", "100", "9KB", "1MB"}
        expected = ["4", "10", "100", "9KB", "1MB", "bdp"]
        self.assertEqual(reporting.in_order(labels), expected)

    def test_one_completion_time_is_a_point(self) -> None:
        """There is no line to be drawn."""
        trimline.run(ONE, self.out)
        page = reporting.report(self.out).read_text(encoding="utf-8")
        self.assertIn('"points":true', page)

    def test_an_unjudged_finding_neither_holds_nor_misses(self) -> None:
        """Nor what has no range; a range may be open."""
        rows = [
            {"name": "a", "holds": True, "hi": 1.5, "ours": 1.0},
            {"name": "b", "holds": True, "lo": 1.0, "ours": 9.0, "not_judged": True},
            {"name": "c", "holds": True, "ours": 9.0},
        ]
        found = reporting.findings(rows)
        for part in ("<td>..1.5</td>", "<td>1..</td>", '<td class="holds">holds'):
            self.assertIn(part, found)
        for part in ('<td class="none">not judged', '<td class="none">reported'):
            self.assertIn(part, found)

    def test_folders_may_have_spaces(self) -> None:
        """Series keep their names and colours beside them."""
        for group, parts in (
            ("a b: ndp", ("a b:", "ndp", "")),
            ("a: ndp n=1", ("a:", "ndp", "n=1")),
            ("ndp", ("", "ndp", "")),
            ("a b:", ("a b:", "", "")),
            ("a: n=1 m=2", ("a:", "", "n=1 m=2")),
            ("", ("", "", "")),
        ):
            self.assertEqual(looks.parts_of(group), parts)
        self.assertEqual(looks.label_of("a b: ndp"), "a b: ndp")
        self.assertEqual(looks.label_of(""), "scenario")

    def test_names_are_escaped_in_a_report(self) -> None:
        """No text of a scenario opens a tag there."""
        trimline.run(ONE | {"sweep": {"description": ["<!--<script>", "b"]}}, self.out)
        page = reporting.report(self.out).read_text(encoding="utf-8")
        data = page.split('id="data">')[1].split("</script>")[0]
        self.assertNotIn("<", data)
        self.assertIn("\\u003c!--\\u003cscript>", data)

    def test_pause_frames_belong_to_no_flow(self) -> None:
        """They have a name of their own, and stand where their host does."""
        scenario = ONE | {
            "transport": {"dcqcn": {}},
            "switch": {"profile": "ecn", "pfc": {"xoff": "30KB"}},
            "workload": [
                {"name": "w", "incast": {"receiver": 0, "senders": 3}, "size": "900KB"},
            ],
            "output": {"timeline": {"places": ["tor 0 down 1", "host 1"]}},
        }
        timeline = trimline.run(scenario, self.out)[0].timeline
        found = drawings.sequence(timeline)
        self.assertIn("pause frame, ", found)
        self.assertNotIn("RESET", found)
        self.assertNotIn("None", found)
        self.assertNotIn(">receiver<", found)


if __name__ == "__main__":
    unittest.main()
