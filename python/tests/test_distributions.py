"""`Results.slowdown`, `Results.cdf` and the picture of a notebook, against sums by hand."""

from __future__ import annotations

import math
import tempfile
import unittest
from pathlib import Path
from typing import Any

import polars

import trimline
from trimline import _core

SCENARIO: dict[str, Any] = {
    "name": "sizes",
    "duration": "2ms",
    "topology": {"star": {"hosts": 8}},
    "workload": [
        {"name": "small", "random": {"flows": 40}, "size": "900B", "start_jitter": "100us"},
        {"name": "large", "incast": {"receiver": 0, "senders": 6}, "size": "60KB"},
        {"name": "long", "permutation": {}, "size": "long-lived"},
    ],
    "series": [{"name": "ndp"}, {"name": "tcp", "transport": {"tcp": {}}}],
}


class Distributions(unittest.TestCase):
    """Tables of slowdowns and distributions by group."""

    @classmethod
    def setUpClass(cls) -> None:
        """Two series with three seeds each, by a sweep of the link rate."""
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        scenario = SCENARIO | {"sweep": {"links.rate": ["10Gbps", "100Gbps"]}}
        cls.results = trimline.run(scenario, Path(scratch.name), seeds=[1, 2, 3])

    def test_slowdowns_are_means_of_nearest_ranks(self) -> None:
        """Each row against quantiles by hand, seed by seed."""
        table = self.results.slowdown()
        columns = ["series", "rate", "size", "flows", "seeds", "p50", "p50 ±", "p99", "p99 ±"]
        self.assertEqual(table.columns, columns)
        self.assertEqual(len(table), 2 * 2 * 2, "a row a series, a rate and a size")
        flows = self.results.flows.filter(polars.col("fct_receiver_ps").is_not_null())
        for row in table.iter_rows(named=True):
            of_size = polars.col("size_bytes") == (900 if row["size"] == "≤ 1 KB" else 60_000)
            is_same = (polars.col("series") == row["series"]) & (polars.col("rate") == row["rate"])
            chosen = flows.filter(of_size & is_same)
            self.assertEqual((row["flows"], row["seeds"]), (len(chosen), 3))
            for word, share in (("p50", 0.5), ("p99", 0.99)):
                ranks = []
                for seed in (1, 2, 3):
                    values = sorted(chosen.filter(seed=seed)["slowdown"])
                    ranks.append(values[math.ceil(share * len(values)) - 1])
                mean, half = _core.interval(ranks) or (None, None)
                self.assertEqual((row[word], row[f"{word} ±"]), (mean, half))

    def test_all_sizes_are_one_class_without_by(self) -> None:
        """As many flows as all classes have together."""
        whole, classes = self.results.slowdown(by=None), self.results.slowdown()
        self.assertNotIn("size", whole.columns)
        self.assertEqual(whole["flows"].sum(), classes["flows"].sum())
        with self.assertRaisesRegex(ValueError, 'expected "size" or None'):
            self.results.slowdown(by="workload")

    def test_one_seed_has_no_interval(self) -> None:
        """Null, which is not zero."""
        one = trimline.Results(self.results.folder, self.results.runs[:1])
        self.assertEqual(one.slowdown()["p99 ±"].null_count(), 2)

    def test_a_distribution_ends_at_one(self) -> None:
        """Shares ascend with the values to 1 in each group."""
        table = self.results.cdf("fct_receiver_ps")
        groups = list(table.group_by("series", "rate"))
        self.assertEqual(len(groups), 4)
        for _, rows in groups:
            self.assertTrue(rows["fct_receiver_ps"].is_sorted())
            self.assertEqual(rows["share"][-1], 1)
            self.assertAlmostEqual(rows["share"][0], 1 / len(rows))
        with self.assertRaisesRegex(ValueError, "no numbers in a column 'end' of flows"):
            self.results.cdf("end")

    def test_a_notebook_shows_a_picture(self) -> None:
        """A table and an image of a few groups; the table alone of many."""
        self.assertIn("<img ", self.results._repr_html_())
        empty = trimline.Results(self.results.folder, ())
        self.assertNotIn("<img ", empty._repr_html_())
        self.assertTrue(empty.slowdown().is_empty())


if __name__ == "__main__":
    unittest.main()
