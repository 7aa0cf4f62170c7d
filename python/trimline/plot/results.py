"""What a finished experiment left in its folder, read and checked.

- `findings.json`: the verdict on every finding
- `reference/*.csv`: the published numbers
- `runs/[<series>/][<sweep point>/]seed-N/{flows.csv,summary.json,manifest.json}`
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class MalformedResult(Exception):
    """A file is missing or is not what its name promises; the message names it."""


@dataclass(frozen=True)
class Flow:
    """One row of flows.csv: times in picoseconds, sizes in payload bytes."""

    workload: str
    source: int
    destination: int
    size_bytes: int | None
    fct_receiver_ps: int | None
    measured_bytes: int


@dataclass(frozen=True)
class Run:
    """One run: one series, one point of the sweep, one seed."""

    series: str
    seed: int
    measured_ps: int
    flows: tuple[Flow, ...]

    def throughput_gbps(self) -> list[float]:
        """Payload that arrived in the measured interval, of every flow, in Gb/s."""
        return [flow.measured_bytes * 8_000 / self.measured_ps for flow in self.flows]

    def fct_ms(self, workload: str | None = None) -> list[float]:
        """FCT at the receiver in ms, ascending, of one workload or all; each must have ended."""
        chosen = [flow for flow in self.flows if workload in (None, flow.workload)]
        unfinished = [flow for flow in chosen if flow.fct_receiver_ps is None]
        if unfinished:
            raise MalformedResult(
                f"series {self.series!r}, seed {self.seed}: {len(unfinished)} of {len(chosen)} "
                "flows did not complete"
            )
        return sorted(flow.fct_receiver_ps / 1e9 for flow in chosen if flow.fct_receiver_ps)


@dataclass(frozen=True)
class Finding:
    """One line of a verdict: the paper's value and ours, `None` where there is none."""

    name: str
    paper: float | None
    ours: float | None
    lo: float | None
    hi: float | None
    unit: str


@dataclass(frozen=True)
class Experiment:
    """Everything that a figure is drawn from."""

    identifier: str
    folder: Path
    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    reference: dict[str, list[float]]

    @staticmethod
    def read(results: Path, identifier: str, reference: Path | None = None) -> Experiment:
        """Reads the experiment below `results`: its own folder or the one above."""
        folder = results / identifier if (results / identifier).is_dir() else results
        runs = [read_run(path.parent, folder) for path in sorted(folder.rglob("flows.csv"))]
        if not runs:
            raise MalformedResult(f"{folder}: no flows.csv; run `trimline reproduce {identifier}`")
        return Experiment(
            identifier=identifier,
            folder=folder,
            runs=tuple(runs),
            findings=tuple(read_findings(folder / "findings.json", identifier)),
            reference=read_reference(reference or folder / "reference", identifier),
        )

    def series(self) -> dict[str, list[Run]]:
        """The runs by series, in alphabetical order."""
        by_series: dict[str, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: (run.series, run.seed)):
            by_series.setdefault(run.series, []).append(run)
        return by_series


def read_run(folder: Path, experiment: Path) -> Run:
    """Reads one run. Without its manifest nobody could say what it shows: it is refused."""
    if not (folder / "manifest.json").is_file():
        raise MalformedResult(f"{folder}: no manifest.json; a result without one is not drawn")
    summary = read_json(folder / "summary.json")
    try:
        run = Run(
            series=str(summary["series"]) or experiment.name,
            seed=int(summary["seed"]),
            measured_ps=int(summary["measured_ps"]),
            flows=tuple(read_flows(folder / "flows.csv")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResult(f"{folder / 'summary.json'}: no usable {error}") from error
    if summary.get("interrupted"):
        raise MalformedResult(f"{folder}: the run was stopped before its end")
    if run.measured_ps <= 0 or not run.flows:
        raise MalformedResult(f"{folder}: nothing was measured")
    return run


def read_flows(path: Path) -> list[Flow]:
    """Reads flows.csv; an empty field is a number that the flow does not have."""
    flows = []
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                flows.append(
                    Flow(
                        workload=row["workload"],
                        source=int(row["source"]),
                        destination=int(row["destination"]),
                        size_bytes=optional(row["size_bytes"]),
                        fct_receiver_ps=optional(row["fct_receiver_ps"]),
                        measured_bytes=int(row["measured_bytes"]),
                    )
                )
            except (KeyError, TypeError, ValueError) as error:
                line = len(flows) + 2
                raise MalformedResult(f"{path}:{line}: no usable {error}") from error
    return flows


def optional(text: str) -> int | None:
    """A number, or nothing."""
    return int(text) if text else None


def read_findings(path: Path, identifier: str) -> list[Finding]:
    """The findings of the experiment; none when there is no such file."""
    if not path.is_file():
        return []
    verdict = read_json(path)
    if verdict.get("id") != identifier:
        raise MalformedResult(f"{path}: of {verdict.get('id')}, not of {identifier}")
    try:
        return [
            Finding(
                name=str(finding["name"]),
                paper=finding.get("paper"),
                ours=finding.get("ours"),
                lo=finding.get("lo"),
                hi=finding.get("hi"),
                unit=str(finding.get("unit", "")),
            )
            for finding in verdict["findings"]
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise MalformedResult(f"{path}: no usable findings ({error})") from error


def read_reference(folder: Path, identifier: str) -> dict[str, list[float]]:
    """The columns of the authors' file for this figure; none when there is no such file."""
    paper, _, figure = identifier.partition("/")
    files = sorted(folder.glob(f"{paper}-{figure}-*.csv"))
    if not files:
        return {}
    with files[0].open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        columns: dict[str, list[float]] = {name: [] for name in rows.fieldnames or []}
        for row in rows:
            for name, column in columns.items():
                try:
                    column.append(float(row[name]))
                except (TypeError, ValueError) as error:
                    where = f"{files[0]}:{rows.line_num}"
                    raise MalformedResult(f"{where}: {name} is no number") from error
    return columns


def read_json(path: Path) -> dict[str, Any]:
    """One JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MalformedResult(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise MalformedResult(f"{path}: not a JSON object")
    return value
