"""Chosen flows and ports over time, and completion times taken apart."""

from __future__ import annotations

import json
import re

import polars

import trimline
from tests.test_package import INCAST, InScratch
from trimline import completion


class OverTime(InScratch):
    """Single flows and ports of a run, over time."""

    def test_chosen_flows_and_ports_are_frames_and_plots(self) -> None:
        """The choices of a series add up to flows and ports, and are drawn."""
        series = {"every": "20us", "flows": [[1, 0], [9, 0]], "ports": ["tor 0 down 0"]}
        scenario = {**INCAST, "output": {"series": series, "ports": True}}
        scenario["workload"] = [
            {"name": "w", "pairs": [[1, 0], [9, 0]], "size": "90KB", "start": "1us"}
        ]
        results = trimline.run(scenario, self.out)
        rows = results.flow_series
        sent = rows.group_by("source").agg(polars.col("packets_sent").sum())
        flows = results.flows.select("source", "packets_sent")
        self.assertEqual(sorted(sent.iter_rows()), sorted(flows.iter_rows()))
        self.assertEqual(rows["pulls_sent"].dtype, polars.Float64)
        self.assertGreater(results.port_series["queue_bytes"].max(), 9_000)
        page = trimline.report(results.folder).read_text(encoding="utf-8")
        for words in ("Chosen flows and ports", "Pulls sent", "w 0: 9 to 0", "tor 0 down 0"):
            self.assertIn(words, page)
        with self.assertRaisesRegex(trimline.MalformedResult, "output.series.flows"):
            _ = trimline.run(INCAST, self.out / "without").flow_series

    def test_series_are_drawn_in_one_plot(self) -> None:
        """A curve a series under the name that the scenario gives; the reader chooses the layer."""
        scenario = {**INCAST, "output": {"series": "20us"}, "schemes": ["ndp", "hull"]}
        page = trimline.report(trimline.sweep(scenario, self.out).folder).read_text(
            encoding="utf-8"
        )
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        over = {plot["y"]: plot for plot in data if plot["x"] == "Time (µs)"}
        queues = over["Fullest port (KB)"]
        self.assertEqual([each["name"] for each in queues["series"]], ["hull", "ndp"])
        self.assertIn("tor down", queues["choices"])
        self.assertFalse(any(part.startswith("host") for part in queues["choices"]))
        self.assertTrue(queues["choices"][queues["choice"]])
        # What a host has not sent is no queue.
        self.assertEqual(list(over["Unsent bytes of a host, mean (KB)"]["choices"]), ["host up"])
        self.assertLess(len(over), 12)

    def test_queues_have_a_heat_map(self) -> None:
        """A row for each layer and chosen pod; the fullest cell is the fullest port of all."""
        series = {"every": "20us", "pods": [0]}
        results = trimline.run({**INCAST, "output": {"series": series}}, self.out)
        samples = results.queues.filter(
            ~polars.col("layer").cast(polars.String).str.starts_with("host")
        )
        page = trimline.report(results.folder).read_text(encoding="utf-8")
        drawing = page[page.index("<h2>Where queues were") :]
        drawing = drawing[: drawing.index("</svg>")]
        layers = samples["layer"].unique(maintain_order=True).to_list()
        self.assertTrue(any(layer.startswith("pod 0 ") for layer in layers), layers)
        names = re.findall(r'text-anchor="end">([^<]*)</text>', drawing)[: len(layers)]
        self.assertEqual(sorted(names), sorted(layers))
        self.assertTrue(names[-1].startswith("pod 0 "), "pods are below")
        said = [float(each) for each in re.findall(r"<title>([0-9.]+) KB, ", drawing)]
        self.assertAlmostEqual(max(said), samples["queue_bytes_max"].max() / 1e3, delta=0.01)

    def test_fct_components_add_up(self) -> None:
        """The parts of a completion time are all of it, and none is less than nothing."""
        workload = {"name": "w", "pairs": [[1, 0], [1, 2], [3, 0]], "size": "90KB"}
        run = trimline.run({**INCAST, "output": {}, "workload": [workload]}, self.out)[0]
        parts = completion.parts(run)
        self.assertEqual(len(parts), 3)
        for whole, *each in parts.select("fct_us", "host_wait_us", "ideal_us", "rest_us").rows():
            self.assertAlmostEqual(whole, sum(each))
            self.assertTrue(all(part >= 0 for part in each), each)
        # The second flow of a host goes behind packets of the first: 9064 B at 10 Gb/s each.
        *others, wait = sorted(parts["host_wait_us"])
        self.assertEqual(others, [0, 0])
        self.assertGreaterEqual(wait, 7.2512)
        page = trimline.report(run.folder).read_text(encoding="utf-8")
        self.assertIn("Where the time goes", page)
