"""scripts/cached_runs.py: what is kept of runs that were made elsewhere."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).parents[2] / "scripts" / "cached_runs.py"
SPEC = importlib.util.spec_from_file_location("cached_runs", SCRIPT)
assert SPEC is not None and SPEC.loader is not None
# It uses another script.
sys.path.insert(0, str(SCRIPT.parent))
cached_runs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cached_runs)

FLOWS = """workload,start_ps,fct_sender_ps,ideal_fct_sender_ps
transfer,5,70,55
transfer,5,80,56
transfer,5,,55
background,5,,
"""
SCENARIO = 'b = [1, 2.5]\na = "µ"\n[[series]]\nname = "s"\n[[series]]\nname = "t"\n'
SCHEMES = """schemes = ["ndp", "s-x"]
[[scheme]]
name = "s-x"
like = "tcp"
[[series]]
name = "a"
duration = "1ms"
[[series]]
name = "a-s"
duration = "3ms"
[[series]]
name = "b"
"""


class CachedRuns(unittest.TestCase):
    """A folder of results, and the file of its cached runs."""

    def setUp(self) -> None:
        """An empty folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.file = self.out / "cached.jsonl"

    def run_of(self, seed: int, flows: str = FLOWS, **manifest: object) -> None:
        """Lays down one run."""
        folder = self.out / "x" / "y" / "runs" / "s" / f"seed-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        whole = {"run": f"s/seed-{seed}", "interrupted": False, "settings": [], "commit": "c"}
        whole |= {"packet_hops": 5, "wall_seconds": 1.26, **manifest}
        answers = {"flows": 4, "measures": [{"measure": {"quantity": "hops"}, "value": 0.1}]}
        texts = {"manifest.json": whole, "measures.json": answers, "summary.json": {"series": "s"}}
        for name, value in texts.items():
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
        (folder / "flows.csv").write_text(flows, encoding="utf-8")
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")

    def add(self) -> int:
        """Returns the exit status of the command."""
        return int(cached_runs.main([str(self.out), "x/y", str(self.file)]))

    def lines(self) -> list[dict[str, object]]:
        """The lines of the file, parsed."""
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def test_finished_runs_are_cached_in_order(self) -> None:
        """Seed 10 comes after seed 9; a stopped run is none."""
        for seed in (10, 9):
            self.run_of(seed)
        self.run_of(11, interrupted=True)
        self.assertEqual(self.add(), 0)
        lines = self.lines()
        self.assertEqual([line["run"] for line in lines], ["s/seed-9", "s/seed-10"])
        workloads = {
            "transfer": {"ended": 2, "ideal_sender_ps": 111},
            "background": {"ended": 0, "ideal_sender_ps": 0},
        }
        self.assertEqual(lines[0]["workloads"], workloads)
        self.assertEqual(lines[0]["wall_seconds"], 1.3)

    def test_an_existing_run_is_compared(self) -> None:
        """Another program must give the same bytes; how long it took may differ."""
        self.run_of(1)
        self.add()
        self.run_of(1, wall_seconds=9.0, commit="d")
        self.assertEqual(self.add(), 0)
        self.run_of(1, flows=FLOWS.replace("70", "71"))
        self.assertEqual(self.add(), 1)
        self.assertEqual(self.lines()[0]["commit"], "c")

    def test_rows_of_tables_are_cached(self) -> None:
        """Also of a run whose line has none yet; one that differs is named."""
        self.run_of(1)
        self.add()
        self.assertNotIn("row", self.lines()[0])
        with mock.patch.object(cached_runs, "TABLES", "x/y"):
            self.assertEqual(self.add(), 0)
        line = self.lines()[0]
        row = {"completed": 2, "min": None, "median": 80}
        self.assertEqual(line["row"], row | {"95th percentile": None, "99th percentile": None})
        text = self.file.read_text(encoding="utf-8")
        self.file.write_text(text.replace('"median":80', '"median":81'), encoding="utf-8")
        with mock.patch.object(cached_runs, "TABLES", "x/y"):
            self.assertEqual(self.add(), 1)

    def test_runs_with_other_settings_are_refused(self) -> None:
        """They are not the experiment's."""
        self.run_of(1, settings=["duration=1ms"])
        self.assertEqual(self.add(), 2)
        self.assertFalse(self.file.exists())

    def test_the_hash_matches_the_program(self) -> None:
        """crates/experiments/src/cached.rs has the same."""
        self.assertEqual(
            cached_runs.series_hash(SCENARIO, "s"),
            "34f81f151c9711a2ba43fb22d8cb36dcc07b3ba50a190c58630c59eafddab6c9",
        )

    def test_the_hash_covers_series_and_scheme(self) -> None:
        """The run's series is SERIES-SCHEME then; other series and schemes change nothing."""
        whole = cached_runs.series_hash(SCHEMES, "a-s-x")
        self.assertEqual(whole, "634c8fb4ee70154ccc8db8f601f2fe3a4c6cdcff4aaf7e7832e7ae6a63678907")
        for before, after, is_same in (
            ("1ms", "2ms", False),
            ('like = "tcp"', 'like = "hull"', False),
            ('name = "b"', 'name = "c"', True),
            ('["ndp", ', '["ndp", "hull", ', True),
        ):
            changed = SCHEMES.replace(before, after)
            self.assertNotEqual(changed, SCHEMES)
            self.assertEqual(cached_runs.series_hash(changed, "a-s-x") == whole, is_same, before)
        own = '[[series]]\nname = "a"\nschemes = ["ndp"]\nduration = "1ms"\n'
        other = cached_runs.series_hash(own.replace("1ms", "2ms"), "a-ndp")
        self.assertNotEqual(cached_runs.series_hash(own, "a-ndp"), other)

    def test_a_scenario_that_names_files_is_refused(self) -> None:
        """The contents of these files are not known."""
        self.run_of(1)
        file = self.out / "x" / "y" / "runs" / "s" / "seed-1" / "scenario.toml"
        for named in (
            'topology.file = "t.topo"\n',
            '[[workload]]\nname = "w"\nsize = { file = "s.txt" }\n',
            '[sweep]\n"topology.file" = ["a.topo", "b.topo"]\n',
        ):
            file.write_text(named, encoding="utf-8")
            self.assertEqual(self.add(), 2, named)
        self.assertFalse(self.file.exists())
