"""The files of a finished experiment, read and checked.

- `findings.json`: the verdict on every finding
- `reference/*.csv`: the published numbers
- `runs/[<series>/][<sweep point>/]seed-N/{flows.csv,summary.json,manifest.json}`, and `ports.csv`,
  `latencies.csv` and `timeline.csv` where the scenario asks for them

Tables are read when a figure looks at them: some experiments have hundreds of runs.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trimline.files import MalformedResult, point_of, read_json


@dataclass(frozen=True)
class Flow:
    """One row of flows.csv: times in picoseconds, sizes in payload bytes."""

    workload: str
    source: int
    destination: int
    size_bytes: int | None
    fct_receiver_ps: int | None
    ideal_fct_ps: int | None
    measured_bytes: int


@dataclass(frozen=True)
class HostLink:
    """The links of hosts when the run begins, and a full data packet on them."""

    rate_bps: int
    payload_bytes: int
    header_bytes: int

    @property
    def gbps(self) -> float:
        """Its rate in Gb/s."""
        return self.rate_bps / 1e9

    @property
    def full_gbps(self) -> float:
        """Goodput of a link that carries nothing but full packets, in Gb/s."""
        return self.gbps * self.payload_bytes / (self.payload_bytes + self.header_bytes)

    def busy_ps(self, size_bytes: int) -> float:
        """Time for which a flow occupies the link, its headers included."""
        packets = max(1, -(-size_bytes // self.payload_bytes))
        return (size_bytes + packets * self.header_bytes) * 8e12 / self.rate_bps


@dataclass(frozen=True)
class Run:
    """One run: one series, one point of the sweep, one seed."""

    folder: Path
    series: str
    point: dict[str, str]
    seed: int
    simulated_ps: int
    measured_ps: int
    host_link: HostLink
    summary: dict[str, Any]

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The rows of flows.csv: at least one."""
        flows = tuple(read_flows(self.folder / "flows.csv"))
        if not flows:
            raise MalformedResult(f"{self.folder}: nothing was measured")
        return flows

    def rows(self, table: str) -> list[dict[str, str]]:
        """The rows of another table, by its name without `.csv`."""
        path = self.folder / f"{table}.csv"
        if not path.is_file():
            raise MalformedResult(
                f"{path} is missing: the scenario must ask for it (output.{table})"
            )
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def number(self, *keys: str) -> float:
        """A number of summary.json, by the keys on the way to it."""
        value: Any = self.summary
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            where = self.folder / "summary.json"
            raise MalformedResult(f"{where}: no number `{'.'.join(keys)}`")
        return value

    def throughput_gbps(self) -> list[float]:
        """Payload that arrived in the measured interval, of every flow, in Gb/s."""
        return [flow.measured_bytes * 8_000 / self.measured_ps for flow in self.flows]

    def link_percent(self, gbps: float) -> float:
        """A rate in percent of the rate of a host's link."""
        return gbps * (100 / self.host_link.gbps)

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
    #: `quick` when only some of the runs were asked for, `part` when some of the series are there.
    tier: str = "full"

    @staticmethod
    def read(results: Path, identifier: str, reference: Path | None = None) -> Experiment:
        """Reads the experiment below `results`: its own folder or the one above."""
        folder = results / identifier if (results / identifier).is_dir() else results
        found = sorted(path.parent for path in folder.rglob("flows.csv"))
        # What is still being written, or was left by a process that was killed, has a hidden name.
        whole = [path for path in found if not path.name.startswith(".")]
        runs = [read_run(path, folder) for path in whole]
        if not runs:
            raise MalformedResult(f"{folder}: no flows.csv; run `trimline reproduce {identifier}`")
        tier, findings = read_findings(folder / "findings.json", identifier)
        return Experiment(
            identifier=identifier,
            folder=folder,
            runs=tuple(runs),
            findings=tuple(findings),
            tier=tier,
            reference=read_reference(reference or folder / "reference", identifier),
        )

    def series(self) -> dict[str, list[Run]]:
        """The runs by series, in alphabetical order."""
        by_series: dict[str, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: (run.series, run.seed)):
            by_series.setdefault(run.series, []).append(run)
        return by_series


def read_run(folder: Path, experiment: Path) -> Run:
    """Reads one run. Refuses a run without manifest: its origin is unknown."""
    if not (folder / "manifest.json").is_file():
        raise MalformedResult(f"{folder}: no manifest.json; a result without one is not drawn")
    summary = read_json(folder / "summary.json")
    manifest = read_json(folder / "manifest.json")
    try:
        link = {key: int(value) for key, value in manifest["host_link"].items()}
        host_link = HostLink(**link)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedResult(
            f"{folder / 'manifest.json'}: no usable host_link ({error})"
        ) from error
    try:
        run = Run(
            folder=folder,
            series=str(summary["series"]) or experiment.name,
            point=point_of(folder.relative_to(experiment)),
            seed=int(summary["seed"]),
            simulated_ps=int(summary.get("simulated_ps", 0)),
            measured_ps=int(summary["measured_ps"]),
            host_link=host_link,
            summary=summary,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResult(f"{folder / 'summary.json'}: no usable {error}") from error
    if summary.get("interrupted"):
        raise MalformedResult(f"{folder}: the run was stopped before its end")
    if min(host_link.rate_bps, host_link.payload_bytes) <= 0:
        raise MalformedResult(f"{folder / 'manifest.json'}: a host_link without a rate or a packet")
    if run.measured_ps <= 0:
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
                        ideal_fct_ps=optional(row["ideal_fct_ps"]),
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


def read_findings(path: Path, identifier: str) -> tuple[str, list[Finding]]:
    """Tier and findings of the experiment; no findings when there is no such file."""
    if not path.is_file():
        return "full", []
    verdict = read_json(path)
    if verdict.get("id") != identifier:
        raise MalformedResult(f"{path}: of {verdict.get('id')}, not of {identifier}")
    try:
        findings = [
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
    return str(verdict.get("tier", "full")), findings


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
