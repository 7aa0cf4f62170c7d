"""Made-up results of experiments, for tests of figures."""

from __future__ import annotations

import csv
import json
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure

from trimline.plot import Experiment, MalformedResult, draw, figure_of, style

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

#: The columns of flows.csv that figures read.
FLOW = ["workload", "index", "source", "destination", "size_bytes", "start_ps", "fct_receiver_ps"]
FLOW += ["fct_sender_ps", "ideal_fct_ps", "measured_bytes"]

Rows = Sequence[Mapping[str, object]]


class Made(unittest.TestCase):
    """Made-up results of one experiment."""

    identifier = ""

    def setUp(self) -> None:
        """Makes a folder for them."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(pyplot.close, "all")
        self.results = Path(temporary.name)

    @property
    def folder(self) -> Path:
        """The experiment's folder."""
        return self.results / self.identifier

    def run_of(
        self,
        name: str,
        flows: Rows = ({"measured_bytes": 10_000_000},),
        *,
        link: Mapping[str, int] | None = None,
        measures: Sequence[tuple[Mapping[str, object], float]] | None = None,
        tables: Mapping[str, Rows] | None = None,
        **summary: object,
    ) -> Path:
        """Writes a run as the simulator leaves it, and returns its folder.

        `name` is series, perhaps the point of a sweep, and seed.
        """
        folder = self.folder / "runs" / name
        series, *points, seed = name.split("/")
        common = {"workload": "w", "index": 0, "source": 1, "destination": 0, "start_ps": 0}
        rows = [{**common, "measured_bytes": 0, **flow} for flow in flows]
        write(folder / "flows.csv", rows, FLOW)
        for table, found in (tables or {}).items():
            write(folder / f"{table}.csv", found, list(found[0]))
        whole: dict[str, Any] = {"series": series, "seed": int(seed.removeprefix("seed-"))}
        whole |= {"simulated_ps": 10**10, "measured_ps": 10**10, "interrupted": False}
        whole |= {"flows": {"total": len(flows)}, "packets_sent": 1000, "packets_delivered": 900}
        whole |= {"goodput_gbps": {"mean": 9.0, "min": 8.0}, "fct_receiver_us": {"max": 300.0}}
        whole |= {"retransmissions": {"nack": 30, "return": 20, "timeout": 0}, **summary}
        put(folder / "summary.json", whole)
        at = [pair.split("=") for point in points for pair in point.split(",")]
        host_link = {"rate_bps": 10**10, "payload_bytes": 9000, "header_bytes": 64, **(link or {})}
        manifest = {"run": name, "scenario_sha256": "", "point": at, "host_link": host_link}
        put(folder / "manifest.json", manifest)
        if measures is not None:
            asked = [{"measure": measure, "value": value} for measure, value in measures]
            put(folder / "measures.json", {"measures": asked})
        return folder

    def verdict(self, *findings: Mapping[str, object], tier: str = "full") -> None:
        """Writes findings.json."""
        put(
            self.folder / "findings.json",
            {"id": self.identifier, "tier": tier, "findings": findings},
        )

    def reference(self, name: str, *lines: str) -> None:
        """Writes a published file."""
        path = self.folder / "reference" / f"{self.identifier.replace('/', '-')}-{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def read(self, tier: str = "") -> Experiment:
        """Reads the experiment; with a tier it has a verdict without findings."""
        if tier:
            self.verdict(tier=tier)
        return Experiment.read(self.results, self.identifier)

    def drawn(self, tier: str = "") -> Figure:
        """Draws twice, the same bytes; gives the figure, the last of several."""
        once, again = (draw(self.read(tier), self.results / each) for each in ("once", "again"))
        self.assertEqual({path.suffix for path in once}, {".png", ".pdf"})
        for one, other in zip(once, again, strict=True):
            self.assertGreater(one.stat().st_size, 5_000)
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)
        with pyplot.rc_context(style.SETTINGS):
            figures = figure_of(self.identifier)(self.read())
        return figures if isinstance(figures, Figure) else list(figures.values())[-1]

    def refused(self, words: str, tier: str = "") -> None:
        """Fails with these words, which name what is missing."""
        with self.assertRaisesRegex(MalformedResult, words):
            draw(self.read(tier), self.results / "figures")


def put(path: Path, value: Mapping[str, object]) -> None:
    """Writes a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write(path: Path, rows: Rows, columns: Sequence[str]) -> None:
    """Writes a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


def texts(figure: Figure) -> list[str]:
    """Returns all words beside dots and on lines."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]
