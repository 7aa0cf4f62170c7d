"""Priority flow control as a user sees it: frames, numbers, reports, deadlocks."""

from __future__ import annotations

from typing import Any

import polars

import trimline
from tests.test_package import INCAST, InScratch
from trimline.comparison import measures

#: Three senders into one host; two of the senders share the way down to its leaf.
LOSSLESS: dict[str, Any] = {
    "name": "lossless",
    "duration": "2ms",
    "topology": {"leafspine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4}},
    "transport": {"dcqcn": {}},
    "switch": {"profile": "ecn", "pfc": {"xoff": "5pkt"}},
    "workload": [{"name": "w", "pairs": [[4, 0], [5, 0], [1, 0]], "size": "long-lived"}],
    "output": {"ports": True, "series": {"every": "50us", "ports": ["spine 0 down 0"]}},
}


class Pauses(InScratch):
    """The effects of pauses, and ports that wait for themselves."""

    def test_pauses_are_a_frame_and_in_the_report(self) -> None:
        """By link with its share of the run, by layer, over time, and in the numbers."""
        results = trimline.run(LOSSLESS, self.out)
        pauses = results.pauses
        self.assertEqual(pauses["sent"].dtype, polars.Int64)
        self.assertEqual(set(pauses["layer"]), {"tor down", "tor up", "spine down", "host"})
        worst = pauses.sort("stopped_ps", descending=True).row(0, named=True)
        self.assertAlmostEqual(worst["stopped"], worst["stopped_ps"] / 2e9)
        found = results[0].summary["pauses"]
        self.assertEqual(found["longest"]["stopped_ps"], worst["stopped_ps"])
        self.assertEqual(found["sent"], pauses["sent"].sum())
        self.assertEqual(results.stopped, ())
        share = results.queues.filter(polars.col("layer") == "host up")["stopped"]
        whole = pauses.filter(polars.col("layer") == "host")["stopped_ps"].sum()
        # Rows are 50 us apart, and there are eight hosts.
        self.assertAlmostEqual(share.sum() * 50e6 * 8 / whole, 1, places=3)
        numbers = measures(results[0])
        self.assertEqual(numbers["pause frames"], found["sent"])
        self.assertAlmostEqual(numbers["stopped, worst link (% of time)"], 100 * worst["stopped"])
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn("<h2>Pauses</h2>", page)
        # Two leaves below a spine: four hosts each, and a link up.
        self.assertEqual(page.count("<title>tor "), 8)
        self.assertEqual(page.count("<title>spine 0 down "), 2)
        # The worst link comes first, and a layer has the mean and the most of its links.
        links = page[page.index("<th>stopped for the longest</th>") :]
        self.assertIn("</tr><tr><td>" + worst["name"], links[: links.index("</td>")])
        hosts = pauses.filter(polars.col("layer") == "host")
        mean, largest = 100 * hosts["stopped"].mean(), 100 * hosts["stopped"].max()
        sums = [
            "host",
            8,
            hosts["sent"].sum(),
            hosts["received"].sum(),
            f"{mean:.1f}",
            f"{largest:.1f}",
        ]
        self.assertIn("".join(f"<td>{each}</td>" for each in sums), page)
        self.assertIn("Stopped by pauses (% of time): scenario, seed 1", page)
        self.assertNotIn("Deadlock", page)

    def test_a_report_without_pauses_does_not_mention_them(self) -> None:
        """Neither a table nor a curve that is zero throughout."""
        results = trimline.run(INCAST, self.out)
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertNotIn("pauses", page.split('<script type="application/json"')[0].lower())
        with self.assertRaisesRegex(trimline.MalformedResult, r"with switch\.pfc"):
            _ = results.pauses

    def test_a_deadlock_is_a_partial_result(self) -> None:
        """It is kept, marked in every frame, and enters no number; the report names its links."""
        ports = [("tor 0 up 0", 1), ("tor 1 up 0", 2), ("tor 2 up 0", 0)]
        detours = [{"over": over, "by": f"spine 0 down {by}"} for over, by in ports]
        leaves = {"leafspine": {"leaves": 3, "spines": 1, "hosts_per_leaf": 2}}
        pairs = {"name": "w", "pairs": [[0, 4], [2, 0], [4, 2]], "size": "long-lived"}
        ring = {
            **LOSSLESS,
            "duration": "20ms",
            "topology": leaves,
            "transport": {"cbr": {}},
            "workload": [pairs],
        }
        series = [{"name": "straight"}, {"name": "round", "fixed_route": detours}]
        trimline.run({**ring, "series": series}, self.out)
        results = trimline.Results.read(self.out)
        (stuck,) = results.stopped
        self.assertEqual(stuck.series, "round")
        links = [name for at in range(3) for name in (ports[at][0], f"spine 0 down {ports[at][1]}")]
        self.assertEqual(stuck.summary["pauses"]["deadlock"], links)
        self.assertEqual(list(results.groups()), ["straight"])
        marked = results.pauses.filter(polars.col("interrupted"))["series"].unique().to_list()
        self.assertEqual(marked, ["round"])
        page = trimline.report(self.out).read_text(encoding="utf-8")
        self.assertIn(f"each for the next: {', '.join(links)}.", page)
        self.assertIn("<h3>round, seed 1</h3>", page)
