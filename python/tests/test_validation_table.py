"""The tables of the experiments' READMEs, and their index in docs/validation.md."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "validation_table.py"


def script() -> Any:
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

    def rewritten(self, finding: dict[str, object]) -> str:
        """The page with one finding."""
        text = script().rewritten(self.page, {"id": "ndp/a", "findings": [finding]}, "abc1234")
        assert isinstance(text, str)
        return text

    def test_a_table_is_replaced(self) -> None:
        """Only what stands between the markers changes."""
        finding = {"name": "mean", "paper": 92.0, "reference": None, "ours": 92.51}
        finding |= {"lo": 91.5, "hi": 94.0, "unit": "%", "holds": True}
        text = self.rewritten(finding)
        self.assertTrue(text.startswith("before\n<!-- measured: ndp/a -->\n| finding"))
        self.assertTrue(text.endswith("|\n\n*Commit abc1234.*\n<!-- end -->\nafter\n"))
        self.assertIn("| mean | 92 | - | 92.51 | 91.5..94 | % | holds |\n", text)
        self.assertNotIn("stale", text)

    def test_misses_and_reports_are_distinguished(self) -> None:
        """A miss is loud; a finding without bounds is only reported."""
        missed = {"name": "x", "ours": 3.0, "hi": 2.0, "unit": "ms", "holds": False}
        self.assertIn("| ..2 | ms | **does not hold** |", self.rewritten(missed))
        missed |= {"missed": "as-baseline", "baseline": {"from": 2.5, "to": 2.75}, "reference": 9.0}
        row = "| x | - | 2.5..2.75 | 3 | ..2 | ms | **misses the paper, as the baseline does** |"
        self.assertIn(row, self.rewritten(missed))
        missed |= {"missed": "both", "baseline": {"from": 1.5, "to": 1.5}}
        self.assertIn("| 1.5 | 3 | ..2 | ms | **misses both** |", self.rewritten(missed))
        missed |= {"missed": "cause-known"}
        self.assertIn("| **does not hold; cause known** |", self.rewritten(missed))
        told = {"name": "x", "ours": 3.0, "unit": "ms", "holds": True}
        self.assertIn("| - | ms | reported |", self.rewritten(told))

    def test_rows_of_unjudged_series_stay(self) -> None:
        """Rows that were not judged stay; one that never was says that it was not run."""
        judged = {"name": "a", "ours": 1.0, "hi": 2.0, "unit": "ms", "holds": True}
        other = {"name": "b", "ours": 3.0, "hi": 4.0, "unit": "ms", "holds": True}
        absent = {"name": "b", "hi": 4.0, "unit": "ms", "holds": True, "not_judged": True}
        new = absent | {"name": "c"}

        def after(page: str, findings: list[dict[str, object]]) -> str:
            part = {"id": "ndp/a", "tier": "part", "findings": findings}
            text = script().rewritten(page, part, "abc1234")
            assert isinstance(text, str)
            return text

        first = after(self.page, [judged, absent])
        self.assertIn("| b | - | - | - | ..4 | ms | not run |\n", first)
        stood = self.page.replace("stale\n", "| b | - | - | 3 | ..4 | ms | holds |\n")
        stood = stood.replace("ndp/a -->\n", "ndp/a -->\n| finding | paper |\n|---|---|\n")
        second = after(stood, [judged | {"ours": 1.5}, absent, new])
        self.assertIn("| a | - | - | 1.5 | ..2 | ms | holds |\n", second)
        self.assertIn("| b | - | - | 3 | ..4 | ms | holds |\n", second)
        self.assertIn("| c | - | - | - | ..4 | ms | not run |\n", second)
        self.assertIn("| b | - | - | 3 | ..4 |", after(second, [judged, other]))

    def test_an_experiment_without_a_place_is_skipped(self) -> None:
        """There is no text for it."""
        experiment = {"id": "ndp/b", "findings": [{"name": "x", "holds": True}]}
        self.assertIsNone(script().rewritten(self.page, experiment, "abc1234"))


class Index(unittest.TestCase):
    """docs/validation.md: counts by paper, and a row for each experiment."""

    empty = "<!-- counted -->\n<!-- end -->\nbetween\n<!-- experiments -->\n<!-- end -->\n"

    def setUp(self) -> None:
        """A workspace of three experiments; one has no table."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        (self.root / "docs").mkdir()
        self.page = self.root / "docs" / "validation.md"
        self.page.write_text(self.empty, encoding="utf-8")
        for name in ("ndp/fig10", "ndp/fig2", "ndp/rtl"):
            folder = self.root / "experiments" / name
            folder.mkdir(parents=True)
            (folder / "expected.toml").write_text(f'title = "About {name}"\n', encoding="utf-8")
            mark = "" if name == "ndp/rtl" else f"<!-- measured: {name} -->\n<!-- end -->\n"
            (folder / "README.md").write_text(mark, encoding="utf-8")
        self.readme = self.root / "experiments" / "ndp" / "fig2" / "README.md"

    def run_script(self, *arguments: str) -> tuple[int, str]:
        """The status and what it prints."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return script().main(list(arguments), self.root), said.getvalue()

    def judge(self, identifier: str, findings: list[dict[str, object]]) -> tuple[int, str]:
        """Writes a verdict, and the tables from it."""
        verdict = self.root / "verdict.json"
        experiments = {"experiments": [{"id": identifier, "findings": findings}]}
        verdict.write_text(json.dumps(experiments), encoding="utf-8")
        return self.run_script(str(verdict))

    def findings(self) -> list[dict[str, object]]:
        """One finding of each verdict; two findings ask for a sign alone."""
        base: dict[str, object] = {"ours": -3.0, "unit": "%", "holds": True}
        missed = base | {"lo": 1.0, "holds": False, "paper": 2.0}
        return [
            base | {"name": "a", "hi": 0, "sign": True},
            base | {"name": "b", "lo": -5},
            missed | {"name": "c", "lo": 0, "sign": True},
            base | {"name": "d"},
            missed | {"name": "e", "missed": "as-baseline"},
            missed | {"name": "f", "missed": "both"},
            missed | {"name": "g", "missed": "no-program"},
            missed | {"name": "h", "missed": "cause-known"},
            base | {"name": "i", "holds": False, "ours": None, "missed": "cause-known"},
            base | {"name": "j", "lo": -5, "not_judged": True},
        ]

    def test_the_index_has_counts_and_rows(self) -> None:
        """Signs are counted apart; each miss has one cause; figures are in numeric order."""
        status, said = self.judge("ndp/fig2", self.findings())
        self.assertEqual(status, 0)
        self.assertIn("ndp/fig2: c: write `baseline` or `cause` into expected.toml", said)
        text = self.page.read_text(encoding="utf-8")
        self.assertIn("| a | - | - | -3 | ..0 sign | % | holds |\n", self.readme.read_text())
        self.assertIn("| ndp | 5 | 1 | 2 | 1 |\n| **all** | 5 | 1 | 2 | 1 |\n<!-- end -->", text)
        link = "[ndp/fig2](../experiments/ndp/fig2/README.md)"
        row = f"| {link} | About ndp/fig2 | 2 of 7 | 2 | 5 | 1 | 3 | 1 |\n| [ndp/fig10]"
        self.assertIn(row, text)
        self.assertIn("| About ndp/fig10 | - | 0 | 0 | 0 | 0 | 0 |\n", text)
        self.assertIn("| About ndp/rtl | - | - | - | - | - | - |\n", text)
        self.assertIn("| **all** |  | 2 of 7 | 2 | 5 | 1 | 3 | 1 |\n<!-- end -->", text)

    def test_unknown_causes_match_the_readme(self) -> None:
        """A finding that is listed must be a miss."""
        self.judge("ndp/fig2", self.findings())
        text = self.readme.read_text(encoding="utf-8")
        listed = text + "<!-- unknown -->\n- f\n- g\n<!-- end -->\n"
        self.readme.write_text(listed, encoding="utf-8")
        self.assertEqual(self.run_script("--index"), (0, ""))
        self.assertIn("| 2 of 7 | 2 | 5 | 1 | 1 | 3 |\n", self.page.read_text(encoding="utf-8"))
        self.readme.write_text(listed.replace("- g", "- b"), encoding="utf-8")
        status, said = self.run_script("--index")
        self.assertEqual(status, 2)
        self.assertIn("ndp/fig2: b: its cause is unknown, and it is no miss", said)

    def test_check_detects_an_outdated_index(self) -> None:
        """It changes nothing."""
        self.assertEqual(self.run_script("--check")[0], 1)
        self.assertEqual(self.page.read_text(encoding="utf-8"), self.empty)
        self.assertEqual(self.run_script("--index"), (0, ""))
        self.assertEqual(self.run_script("--check"), (0, ""))
        self.judge("ndp/fig2", self.findings())
        text = self.readme.read_text(encoding="utf-8")
        self.readme.write_text(text.replace("| holds |", "| **does not hold** |"), encoding="utf-8")
        self.assertEqual(self.run_script("--check")[0], 1)

    def test_an_experiment_without_a_place_and_misuse_are_named(self) -> None:
        """They are named, and the index is made all the same."""
        status, said = self.judge("ndp/rtl", self.findings())
        self.assertEqual(status, 1)
        self.assertIn("no `<!-- measured: ndp/rtl -->`", said)
        self.assertIn("About ndp/rtl", self.page.read_text(encoding="utf-8"))
        self.assertEqual(self.run_script()[0], 2)
        self.assertEqual(self.run_script("--tables")[0], 2)
        text = self.readme.read_text(encoding="utf-8")
        head = "| finding | paper |\n|---|---|\n| a | - | - | 1 | 0.. | % | HOLDS |\n"
        self.readme.write_text(text.replace("-->\n<", f"-->\n{head}<"), encoding="utf-8")
        self.assertIn("ndp/fig2: a: no such verdict: HOLDS", self.run_script("--check")[1])


class Repository(unittest.TestCase):
    """The index of this repository."""

    def test_the_index_is_up_to_date_and_short(self) -> None:
        """The numbers of the READMEs."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(script().main(["--check"]), 0, said.getvalue())
        lines = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 150)

    def test_links_have_targets(self) -> None:
        """Files and headings that documents of results link to."""
        pages = [ROOT / "docs" / "validation.md", *(ROOT / "docs" / "validation").glob("*.md")]
        pages += (ROOT / "experiments").rglob("README.md")
        for page in pages:
            text = page.read_text(encoding="utf-8")
            for target in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]*)?)\)", text):
                if "://" in target:
                    continue
                name, _, anchor = target.partition("#")
                path = (page.parent / name).resolve() if name else page
                with self.subTest(page=str(page.relative_to(ROOT)), target=target):
                    self.assertTrue(path.exists())
                    if anchor:
                        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
                        anchors = {re.sub(r"[^a-z0-9 -]", "", h.lower()) for h in headings}
                        self.assertIn(anchor, {one.replace(" ", "-") for one in anchors})


if __name__ == "__main__":
    unittest.main()
