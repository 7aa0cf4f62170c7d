"""The tables of docs/validation.md."""

from __future__ import annotations

import importlib.util
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "validation_table.py"


def script() -> object:
    """The script as a module: it is no part of the package."""
    spec = importlib.util.spec_from_file_location("validation_table", SCRIPT)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tables(unittest.TestCase):
    """Tables that are rewritten, and text that is left alone."""

    page = "before\n<!-- measured: ndp/a -->\nstale\n<!-- end -->\nafter\n"

    def rewritten(self, finding: dict[str, object], identifier: str = "ndp/a") -> tuple[str, list]:
        """The page with one finding."""
        experiment = {"id": identifier, "findings": [finding]}
        return script().rewritten(self.page, [experiment], "abc1234")  # type: ignore[attr-defined]

    def test_table_is_replaced(self) -> None:
        """Only what stands between the markers changes."""
        finding = {"name": "mean", "paper": 92.0, "reference": None, "ours": 92.51}
        finding |= {"lo": 91.5, "hi": 94.0, "unit": "%", "holds": True}
        text, homeless = self.rewritten(finding)
        self.assertEqual(homeless, [])
        self.assertTrue(text.startswith("before\n<!-- measured: ndp/a -->\n| finding"))
        self.assertTrue(text.endswith("|\n\n*Commit abc1234.*\n<!-- end -->\nafter\n"))
        self.assertIn("| mean | 92 | - | 92.51 | 91.5..94 | % | holds |\n", text)
        self.assertNotIn("stale", text)

    def test_misses_and_reports_are_told_apart(self) -> None:
        """A miss is loud; a finding without bounds is only reported."""
        missed = {"name": "x", "ours": 3.0, "hi": 2.0, "unit": "ms", "holds": False}
        self.assertIn("| ..2 | ms | **does not hold** |", self.rewritten(missed)[0])
        missed |= {"missed": "as-baseline", "baseline": {"from": 2.5, "to": 2.75}, "reference": 9.0}
        row = "| x | - | 2.5..2.75 | 3 | ..2 | ms | **misses the paper, as theirs does** |"
        self.assertIn(row, self.rewritten(missed)[0])
        missed |= {"missed": "both", "baseline": {"from": 1.5, "to": 1.5}}
        self.assertIn("| 1.5 | 3 | ..2 | ms | **misses both** |", self.rewritten(missed)[0])
        missed |= {"missed": "cause-known"}
        self.assertIn("| **does not hold; cause known** |", self.rewritten(missed)[0])
        told = {"name": "x", "ours": 3.0, "unit": "ms", "holds": True}
        self.assertIn("| - | ms | reported |", self.rewritten(told)[0])

    def test_signs_are_marked_and_counted_apart(self) -> None:
        """A comparison whose only bound is 0 says less than a range."""
        base: dict = {"ours": -3.0, "unit": "%", "holds": True}
        findings = [base | {"name": "a", "hi": 0, "sign": True}, base | {"name": "b", "lo": -5}]
        findings += [base | {"name": "c", "lo": 0, "holds": False}, base | {"name": "d"}]
        page = "<!-- counted -->\n<!-- end -->\n" + self.page
        text, _ = script().rewritten(page, [{"id": "ndp/a", "findings": findings}], "abc1234")  # type: ignore[attr-defined]
        self.assertIn("| a | - | - | -3 | ..0 sign | % | holds |\n", text)
        counted = script().counted(text)  # type: ignore[attr-defined]
        self.assertIn("| ndp | 2 | 1 | 1 | 1 |\n| **all** | 2 | 1 | 1 | 1 |\n<!-- end -->", counted)
        self.assertEqual(counted, script().counted(counted))  # type: ignore[attr-defined]
        self.assertEqual(self.page, script().counted(self.page))  # type: ignore[attr-defined]

    def test_of_some_series_the_other_rows_stay(self) -> None:
        """Rows that were not judged stay; one that never was says that it was not run."""
        judged = {"name": "a", "ours": 1.0, "hi": 2.0, "unit": "ms", "holds": True}
        other = {"name": "b", "ours": 3.0, "hi": 4.0, "unit": "ms", "holds": True}
        absent = {"name": "b", "hi": 4.0, "unit": "ms", "holds": True, "not_judged": True}
        new = absent | {"name": "c"}

        def after(page: str, findings: list[dict[str, object]]) -> str:
            part = {"id": "ndp/a", "tier": "part", "findings": findings}
            return script().rewritten(page, [part], "abc1234")[0]  # type: ignore[attr-defined]

        first = after(self.page, [judged, absent])
        self.assertIn("| b | - | - | - | ..4 | ms | not run |\n", first)
        stood = self.page.replace("stale\n", "| b | - | - | 3 | ..4 | ms | holds |\n")
        stood = stood.replace("ndp/a -->\n", "ndp/a -->\n| finding | paper |\n|---|---|\n")
        second = after(stood, [judged | {"ours": 1.5}, absent, new])
        self.assertIn("| a | - | - | 1.5 | ..2 | ms | holds |\n", second)
        self.assertIn("| b | - | - | 3 | ..4 | ms | holds |\n", second)
        self.assertIn("| c | - | - | - | ..4 | ms | not run |\n", second)
        self.assertIn("| b | - | - | 3 | ..4 |", after(second, [judged, other]))

    def test_experiment_without_a_place(self) -> None:
        """It is named, and the page stays as it was."""
        text, homeless = self.rewritten({"name": "x", "holds": True}, "ndp/b")
        self.assertEqual((text, homeless), (self.page, ["ndp/b"]))


if __name__ == "__main__":
    unittest.main()
