"""What a terminal shows: tables of 80 columns, progress, intervals, and JSON in their place."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import trimline
from trimline.comparison import main
from trimline.means import Measure
from trimline.progress import counted
from trimline.results import text_of


class Terminal(unittest.TestCase):
    """Tables, lines and JSON."""

    def test_a_wide_table_fits_a_terminal(self) -> None:
        """Further columns stand below, each with the first one."""
        rows = [["measure", *(f"series {n}" for n in range(20))], ["x", *map(str, range(20))]]
        tables = [table.splitlines() for table in text_of(rows).split("\n\n")]
        self.assertLessEqual(max(len(line) for table in tables for line in table), 80)
        self.assertGreater(len(tables), 1)
        self.assertTrue(all(head.startswith("measure  ") for head, _ in tables))
        cells = [cell for _, row in tables for cell in row.split()[1:]]
        self.assertEqual(cells, [*map(str, range(20))])

    def test_counted_items_show_the_time_left(self) -> None:
        """On a terminal only: a bar, which goes at the end."""
        for show, is_shown in ((True, True), (None, False)):
            shown = io.StringIO()
            with contextlib.redirect_stderr(shown):
                self.assertEqual(list(counted("abc", "letters", show)), ["a", "b", "c"])
            lines = shown.getvalue().split("\r")
            self.assertEqual(any(line.startswith("letters |") for line in lines), is_shown, lines)
            self.assertEqual(any("left" in line for line in lines), is_shown, lines)
            self.assertEqual(lines[-1].strip(), "")

    def test_an_interval_has_the_decimals_of_its_mean(self) -> None:
        """Below the last digit of the mean it is 0."""
        halves = {2.43e-6: "9.26 ± 0", 0.0345: "9.26 ± 0.03", 1.234: "9.26 ± 1.23", 3.0: "9.26 ± 3"}
        self.assertEqual({half: str(Measure(9.26, half)) for half in halves}, halves)
        self.assertEqual(str(Measure(1234.0, 0.7)), "1234 ± 1")
        self.assertEqual(str(Measure(0.0, 2.43e-6)), "0 ± 0.00000243")

    def test_a_comparison_as_json_has_its_table(self) -> None:
        """`trimline compare --json`: every number of the table, and the figures."""
        workload = {"name": "w", "permutation": {}, "size": "90KB"}
        scenario = {"topology": {"star": {"hosts": 4}}, "workload": [workload]}
        with tempfile.TemporaryDirectory() as folder:
            names, text = ["ndp", "dctcp"], io.StringIO()
            options = {"seeds": [1, 2], "workers": 2, "timers": "datacenter"}
            compared = trimline.compare(scenario, names, folder, **options)
            with contextlib.redirect_stdout(text):
                self.assertEqual(main(["--json", folder, *names]), 0)
            found = json.loads(text.getvalue())
            self.assertTrue(all(Path(path).is_file() for path in found["figures"]))
        rows = [
            (row["measure"], *(each[key] for each in row["series"] for key in list(each)[1:]))
            for row in found["measures"]
        ]
        self.assertEqual(rows, compared.table.rows())


if __name__ == "__main__":
    unittest.main()
