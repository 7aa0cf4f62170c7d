"""The files of a finished experiment, read and checked.

- `findings.json`: the verdict on every finding
- `reference/*.csv`: the published numbers
- `runs/`: a result for each run, with `measures.json`, the answers to what the findings ask
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import polars

from trimline.files import MalformedResult, read_json
from trimline.results import FLOWS, Result, Results

#: The columns of flows.csv that figures need.
COLUMNS = ["workload", "index", "source", "destination", "size_bytes", "start_ps"]
COLUMNS += ["fct_receiver_ps", "fct_sender_ps", "ideal_fct_ps", "measured_bytes"]


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


class Run(Result):
    """A run, with the numbers that figures take from it."""

    #: Flows of the experiment's runs by their file: they are read together.
    together: Callable[[], Mapping[str, polars.DataFrame]]

    @staticmethod
    def of(result: Result, together: Callable[[], Mapping[str, polars.DataFrame]]) -> Run:
        """Makes a run of a result. Refuses a stopped run, and a run that measured nothing."""
        run = Run(result.folder, result.series, result.point, result.seed)
        vars(run).update(vars(result), together=together)
        if run.interrupted:
            raise MalformedResult(f"{run.folder}: the run was stopped before its end")
        if min(run.host_link.rate_bps, run.host_link.payload_bytes) <= 0:
            where = run.folder / "manifest.json"
            raise MalformedResult(f"{where}: a host_link without a rate or a packet")
        if run.measured_ps <= 0:
            raise MalformedResult(f"{run.folder}: nothing was measured")
        return run

    @cached_property
    def host_link(self) -> HostLink:
        """The links of hosts, from the manifest."""
        try:
            return HostLink(**{key: int(each) for key, each in self.manifest["host_link"].items()})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            where = self.folder / "manifest.json"
            raise MalformedResult(f"{where}: no usable host_link ({error})") from error

    @property
    def measured_ps(self) -> int:
        """The measured interval, in ps."""
        return int(self.number("measured_ps"))

    @cached_property
    def flows(self) -> polars.DataFrame:
        """Returns the columns of flows.csv that figures need, at least one row."""
        found = self.together().get(str(self.folder / "flows.csv"))
        if found is None:
            raise MalformedResult(f"{self.folder}: nothing was measured")
        return found

    def of_workload(self, workload: str | None = None) -> polars.DataFrame:
        """Returns the flows of a workload, or all."""
        return self.flows if workload is None else self.flows.filter(workload=workload)

    def table(self, name: str) -> polars.DataFrame:
        """Reads another table, by its name without `.csv`."""
        path = self.folder / f"{name}.csv"
        if not path.is_file():
            raise MalformedResult(
                f"{path} is missing: the scenario must ask for it (output.{name})"
            )
        return polars.read_csv(path, infer_schema_length=None)

    def number(self, *keys: str) -> float:
        """Returns a number of summary.json, by the keys on the way to it."""
        value: Any = self.summary
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            where = self.folder / "summary.json"
            raise MalformedResult(f"{where}: no number `{'.'.join(keys)}`")
        return value

    @cached_property
    def answers(self) -> list[tuple[dict[str, Any], float]]:
        """Returns the measures that findings ask of the run and that have a value, each with it."""
        asked = read_json(self.folder / "measures.json")["measures"]
        return [(each["measure"], each["value"]) for each in asked if each["value"] is not None]

    def answer(self, **wanted: Any) -> float:
        """Returns the value of the first measure with these keys and values."""
        for measure, value in self.answers:
            if all(measure.get(key) == each for key, each in wanted.items()):
                return float(value)
        raise MalformedResult(f"{self.folder}: measures.json has no number for {wanted}")

    def place(self, key: str) -> float:
        """Returns the place in a sweep: the number that the value begins with (`8pkt`, `90KB`)."""
        label = str(self.point.get(key, ""))
        try:
            return float(label.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%"))
        except ValueError:
            raise MalformedResult(f"{self.folder}: no number at {key!r} of the sweep") from None

    def goodputs_gbps(self, workload: str | None = None) -> list[float]:
        """Returns the payload of each flow that arrived in the measured interval, in Gb/s."""
        measured = self.of_workload(workload)["measured_bytes"]
        return (measured * 8_000 / self.measured_ps).to_list()

    def mean_goodput_gbps(self) -> float:
        """Returns the mean goodput of the flows, from the summary."""
        return self.number("goodput_gbps", "mean")

    def mean_goodput_percent(self) -> float:
        """Returns the mean goodput of the flows, in percent of a host's link."""
        return self.link_percent(self.mean_goodput_gbps())

    def link_percent(self, gbps: float) -> float:
        """Returns a rate in percent of the rate of a host's link."""
        return gbps * (100 / self.host_link.gbps)

    def fct_ms(self, workload: str | None = None) -> list[float]:
        """Returns FCTs at the receiver in ms, ascending; each flow must have ended."""
        times = self.of_workload(workload)["fct_receiver_ps"]
        if unfinished := times.null_count():
            raise MalformedResult(
                f"series {self.series!r}, seed {self.seed}: {unfinished} of {len(times)} "
                "flows did not complete"
            )
        return (times.sort() / 1e9).to_list()

    def last_ms(self) -> float:
        """Returns the FCT of the last flow in ms; each flow must have ended."""
        return self.fct_ms()[-1]


def flows_of(folders: Sequence[Path]) -> dict[str, polars.DataFrame]:
    """Reads flows by their file, all folders in one call: many files are small."""
    paths = [folder / "flows.csv" for folder in folders]
    columns = polars.selectors.by_name(*COLUMNS, "file", require_all=False)
    try:
        read = polars.scan_csv(paths, schema_overrides=FLOWS, include_file_paths="file")
        rows = read.select(columns).collect().partition_by("file", as_dict=True, include_key=False)
    except polars.exceptions.PolarsError as error:
        if len(paths) == 1:
            raise MalformedResult(f"{paths[0]}: {error}") from error
        # One by one, for the name of the file.
        return {name: each for folder in folders for name, each in flows_of([folder]).items()}
    return {str(file): each for (file,), each in rows.items()}


@dataclass(frozen=True)
class Finding:
    """One line of a verdict: the paper's value and ours, `None` where there is none."""

    name: str
    paper: float | None
    ours: float | None
    lo: float | None
    hi: float | None
    unit: str | None


@dataclass(frozen=True)
class Experiment:
    """Everything that a figure is drawn from."""

    identifier: str
    folder: Path
    #: By series, then by seed.
    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    reference: dict[str, list[float]]
    #: `quick` with the runs of the quick tier, `part` with some of the series.
    tier: str = "full"

    @staticmethod
    def read(results: Path, identifier: str, reference: Path | None = None) -> Experiment:
        """Reads the experiment below `results`: its own folder or the one above."""
        folder = results / identifier if (results / identifier).is_dir() else results
        found = sorted(path.parent for path in folder.rglob("flows.csv"))
        # What is still being written, or was left by a process that was killed, has a hidden name.
        whole = [path for path in found if not path.name.startswith(".")]
        for path in whole:
            if not (path / "manifest.json").is_file():
                raise MalformedResult(
                    f"{path}: no manifest.json; a result without one is not drawn"
                )
        if not whole:
            raise MalformedResult(f"{folder}: no flows.csv; run `trimline reproduce {identifier}`")
        tier, findings = read_findings(folder / "findings.json", identifier)
        together = cache(partial(flows_of, whole))
        runs = [Run.of(result, together) for result in Results.read(folder)]
        return Experiment(
            identifier=identifier,
            folder=folder,
            runs=tuple(sorted(runs, key=lambda run: (run.series, run.seed))),
            findings=tuple(findings),
            tier=tier,
            reference=read_reference(reference or folder / "reference", identifier),
        )

    @cached_property
    def series(self) -> dict[str, list[Run]]:
        """Returns the runs by series, in alphabetical order."""
        by_series: dict[str, list[Run]] = {}
        for run in self.runs:
            by_series.setdefault(run.series, []).append(run)
        return by_series

    def __getitem__(self, name: str) -> list[Run]:
        """Returns the runs of a series that the figure needs."""
        if name not in self.series:
            raise MalformedResult(f"{self.folder}: no series {name!r}")
        return self.series[name]

    def get(self, name: str) -> list[Run]:
        """Returns the runs of a series, none if it was not run."""
        return self.series.get(name, [])

    def needed(self, name: str) -> list[Run]:
        """Returns the runs of a series. A whole result must have it; of a part it may be empty."""
        return self[name] if self.tier == "full" else self.get(name)

    def numbered(self, prefix: str) -> dict[float, list[Run]]:
        """Returns the runs of series whose names are `prefix` and a number, by this number."""
        found = {}
        for name, runs in self.series.items():
            head, _, number = name.rpartition("-")
            if head == prefix:
                try:
                    found[float(number)] = runs
                except ValueError:
                    continue
        return dict(sorted(found.items()))

    def only(self, names: Iterable[str]) -> Experiment:
        """Returns the experiment with these series alone."""
        return replace(self, runs=tuple(run for run in self.runs if run.series in set(names)))


def read_findings(path: Path, identifier: str) -> tuple[str, list[Finding]]:
    """Tier and findings of the experiment; no findings when there is no such file."""
    if not path.is_file():
        return "full", []
    verdict = read_json(path)
    if verdict.get("id") != identifier:
        raise MalformedResult(f"{path}: of {verdict.get('id')}, not of {identifier}")
    try:
        names = [each.name for each in fields(Finding)]
        findings = [Finding(*map(each.get, names)) for each in verdict["findings"]]
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
