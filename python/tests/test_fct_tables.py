"""scripts/fct_tables.py: the rows of TR-933's tables from flows.csv, beside the findings."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("fct_tables", ROOT / "scripts" / "fct_tables.py")
assert SPEC is not None and SPEC.loader is not None
fct_tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fct_tables)

HEAD = "workload,start_ps,fct_sender_ps,ideal_fct_sender_ps\n"
#: What findings say of two seeds whose medians are 90 and 100 us.
FINDINGS: tuple[dict[str, object], ...] = (
    {"name": "Web 1:1, DCTCP: completed", "ours": 2.5},
    {"name": "Web 1:1, DCTCP: median, fastest path", "ours": 90.0, "hi": 330.0},
    {"name": "Web 1:1, DCTCP: median, slowest path", "ours": 100.0, "lo": 330.0},
    {"name": "Web 1:1, DCTCP: median, above NDP", "ours": 90.0, "lo": 88.55},
    {"name": "Web 1:1, DCTCP: 95th percentile, above NDP", "ours": 0.0, "not_judged": True},
)
#: How the program asks for the median of a run.
MEDIAN: dict[str, object] = {
    "quantity": "fct",
    "at": "sender",
    "workload": "transfer",
    "reduce": "p50",
    "unit": "us",
}


class Tables(unittest.TestCase):
    """Two seeds of one series."""

    def setUp(self) -> None:
        """In the second seed the last transfer is under way at the end."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        for seed, times in (1, ("80", "90", "95")), (2, ("99", "100", "")):
            run = self.out / "ndp-evaluation/tables2-9/runs/web-1to1-dctcp" / f"seed-{seed}"
            run.mkdir(parents=True)
            rows = [f"transfer,5,{us and us + '000000'},55000000\n" for us in times]
            (run / "flows.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
            summary = {"series": "web-1to1-dctcp", "seed": seed}
            (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
            self.stopped(seed, False)
            self.found(seed, [])

    def stopped(self, seed: int, interrupted: bool) -> None:
        """Says whether a seed's run was stopped."""
        run = self.out / "ndp-evaluation/tables2-9/runs/web-1to1-dctcp" / f"seed-{seed}"
        manifest = json.dumps({"interrupted": interrupted})
        (run / "manifest.json").write_text(manifest, encoding="utf-8")

    def found(self, seed: int, measures: list[dict[str, object]]) -> None:
        """Says what the program found in a seed's run."""
        run = self.out / "ndp-evaluation/tables2-9/runs/web-1to1-dctcp" / f"seed-{seed}"
        text = json.dumps({"flows": 3, "measures": measures})
        (run / "measures.json").write_text(text, encoding="utf-8")

    def keep(self, seed: int, **line: object) -> None:
        """A line of scripts/cached_runs.py about a third run."""
        run = {"run": f"web-1to1-dctcp/seed-{seed}", "experiment": "ndp-evaluation/tables2-9"}
        (self.out / "cached.jsonl").write_text(json.dumps(run | line) + "\n", encoding="utf-8")

    def said(self, *findings: dict[str, object]) -> tuple[int, str]:
        """Returns the exit status and the output of the program."""
        report = {"id": "ndp-evaluation/tables2-9", "findings": findings}
        (self.out / "report.json").write_text(json.dumps(report), encoding="utf-8")
        command = ["fct_tables.py", str(self.out), "--json", str(self.out / "report.json")]
        if (cached := self.out / "cached.jsonl").exists():
            command += ["--cached", str(cached)]
        printed = io.StringIO()
        with mock.patch("sys.argv", command), contextlib.redirect_stdout(printed):
            return fct_tables.main(), printed.getvalue()

    def test_tables_over_several_seeds_match_the_findings(self) -> None:
        """The least, the most, the mean, and of one bound the seed that is nearest to it."""
        status, printed = self.said(*FINDINGS)
        self.assertIn(
            "1 of 32 rows, 1 of all their seeds; 2 runs\n4 numbers compared, 0 differ", printed
        )
        self.assertIn("2..3 (1330)", printed)
        self.assertEqual(status, 0)

    def test_a_partial_run_is_excluded(self) -> None:
        """Its transfers are fewer than in a whole run."""
        self.stopped(2, True)
        status, printed = self.said({**FINDINGS[0], "ours": 3.0})
        self.assertIn("seed-2: was stopped, left out", printed)
        self.assertIn("1 numbers compared, 0 differ", printed)
        self.assertEqual(status, 0)

    def test_rows_of_cached_runs_count(self) -> None:
        """Their flows.csv may be gone."""
        times = {"min": 70_000_000, "median": 70_000_000}
        row = {"completed": 7, **times, "95th percentile": None, "99th percentile": None}
        self.keep(3, row=row, measures=[{"measure": MEDIAN, "value": 70.0}])
        status, printed = self.said({**FINDINGS[0], "ours": 4.0}, {**FINDINGS[1], "ours": 70.0})
        self.assertIn("1 of all their seeds; 3 runs\n3 numbers compared, 0 differ", printed)
        self.assertEqual(status, 0)

    def test_a_series_with_a_run_without_row_is_compared_run_by_run(self) -> None:
        """The result over all seeds cannot be computed again."""
        self.keep(3)
        self.found(2, [{"measure": MEDIAN, "value": 100.0}])
        status, printed = self.said(FINDINGS[0])
        self.assertIn("web  1:1  DCTCP  2 of 3  2..3 (1330)", printed)
        self.assertIn("0 of all their seeds; 2 runs\n1 numbers compared, 0 differ", printed)
        self.assertEqual(status, 0)

    def test_a_series_without_rows_is_named(self) -> None:
        """Its flows.csv are gone."""
        shutil.rmtree(self.out / "ndp-evaluation")
        self.keep(3)
        status, printed = self.said(FINDINGS[0])
        self.assertIn("web-1to1-dctcp: 1 runs are kept without their row, not compared", printed)
        self.assertIn("0 of 32 rows", printed)
        self.assertEqual(status, 1)

    def test_a_differing_digit_of_a_run_is_named(self) -> None:
        """Beside what the program has of the run; questions that no row answers are passed over."""
        others: dict[str, object] = MEDIAN | {"size_bytes": {"from": 63_000, "below": 63_001}}
        self.found(2, [{"measure": MEDIAN, "value": 100.1}, {"measure": others, "value": 7.0}])
        status, printed = self.said()
        self.assertIn("web-1to1-dctcp, seed 2, median: 100 here, 100.1 there", printed)
        self.assertIn("1 numbers compared, 1 differ", printed)
        self.assertEqual(status, 1)

    def test_a_differing_digit_is_named(self) -> None:
        """Changes one finding at a time."""
        for finding in FINDINGS[:4]:
            status, printed = self.said({**finding, "ours": 90.001})
            self.assertIn(f"{finding['name']}: ", printed)
            self.assertEqual(status, 1)

    def test_an_empty_comparison_is_no_agreement(self) -> None:
        """A report of other rows."""
        status, printed = self.said({"name": "Web 4:1, NDP: median", "ours": 1.0})
        self.assertIn("0 numbers compared", printed)
        self.assertEqual(status, 1)


class Stalls(unittest.TestCase):
    """Runs of seeds50, of two packets a transfer."""

    def setUp(self) -> None:
        """A folder without runs."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def run_of(self, series: str, seed: int, ended: int, ideal: str = "63065600") -> None:
        """Writes a run that completed `ended` transfers, and had one more under way."""
        run = self.out / "ndp-evaluation/seeds50/runs" / series / f"seed-{seed}"
        run.mkdir(parents=True)
        rows = [f"transfer,5,{ideal},{ideal}\n"] * ended + [f"transfer,5,,{ideal}\n"]
        (run / "flows.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
        (run / "summary.json").write_text(
            json.dumps({"series": series, "seed": seed}), encoding="utf-8"
        )
        (run / "manifest.json").write_text(json.dumps({"interrupted": False}), encoding="utf-8")

    def told(self, *more: str) -> tuple[int, str]:
        """The exit status and what was printed."""
        said = io.StringIO()
        arguments = ["fct_tables.py", str(self.out), "--stalls", *more]
        with contextlib.redirect_stdout(said), mock.patch("sys.argv", arguments):
            return fct_tables.main(), said.getvalue()

    def test_a_stalled_run_is_named_and_counts_with_a_credit_bank(self) -> None:
        """The counts of all other runs are printed without it."""
        for seed, ended in (1, 20), (2, 19), (3, 20):
            self.run_of("cache-1to1-no-bank", seed, ended)
            self.run_of("cache-1to1-bank", seed, ended)
        status, said = self.told()
        # 19 of 20 are the 95 % that are asked.
        self.assertEqual((status, "below" in said), (0, False), said)
        self.assertIn("cache-1to1-bank: 3 runs, the least 95.0 % of the median\n", said)
        self.run_of("cache-1to1-no-bank", 4, 18)
        status, said = self.told()
        self.assertEqual(status, 0)
        self.assertIn("below 95 %: seeds 4\n  all others: 19 to 20 transfers", said)
        self.run_of("cache-1to1-bank", 7, 18)
        self.assertEqual(self.told()[0], 1)

    def test_the_payload_counts_whole_packets(self) -> None:
        """Other sizes have none."""
        self.run_of("a-bank", 1, 10)
        self.run_of("a-bank", 2, 12)
        self.run_of("b-bank", 1, 10, ideal="63065601")
        _, said = self.told()
        self.assertIn("10 to 12 transfers, 0.2 MB in the mean, 0.2 MB at least", said)
        self.assertIn("10 to 10 transfers, of sizes that are no whole packets", said)
        self.assertEqual(fct_tables.payload_of(3, 2 * 63065600 + 1665580800), (2 * 2 + 223) * 9000)

    def test_cached_runs_count_as_existing_ones(self) -> None:
        """A line of cached_runs.py has the sums."""
        self.run_of("a-bank", 1, 10)
        of_it = {"ended": 10, "ideal_sender_ps": 10 * 63065600}
        line = {
            "experiment": "ndp-evaluation/seeds50",
            "run": "a-bank/seed-2",
            "workloads": {"transfer": of_it},
        }
        cached = self.out / "cached.jsonl"
        cached.write_text(json.dumps(line) + "\n", encoding="utf-8")
        status, said = self.told("--cached", str(cached))
        self.assertEqual(status, 0)
        self.assertIn("a-bank: 2 runs, the least 100.0 % of the median", said)


if __name__ == "__main__":
    unittest.main()
