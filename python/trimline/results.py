"""Results: a folder a run, read as polars frames when somebody looks."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars

from trimline.files import MalformedResult, point_of, read_json

#: flows.csv, as narrow as its numbers are: a row of a flow takes about a hundred bytes.
FLOWS: dict[str, Any] = {
    "workload": polars.Categorical,
    "index": polars.UInt32,
    "source": polars.UInt32,
    "destination": polars.UInt32,
    "size_bytes": polars.UInt64,
    "start_ps": polars.UInt64,
    "fct_receiver_ps": polars.UInt64,
    "fct_sender_ps": polars.UInt64,
    "ideal_fct_ps": polars.UInt64,
    "slowdown": polars.Float64,
    "delivered_bytes": polars.UInt64,
    "measured_bytes": polars.UInt64,
    "packets_sent": polars.UInt32,
    "retransmissions_signalled": polars.UInt32,
    "retransmissions_return": polars.UInt32,
    "retransmissions_timeout": polars.UInt32,
    "trims": polars.UInt32,
    "returns": polars.UInt32,
    "timeouts": polars.UInt32,
    "end": polars.Categorical,
}

#: ports.csv: the columns that are no counters. Every other column is one (`counters`).
PORTS: dict[str, Any] = {"name": polars.String, "rate_bps": polars.UInt64}

#: series.csv: likewise.
SERIES: dict[str, Any] = {
    "time_ps": polars.UInt64,
    "layer": polars.Categorical,
    "utilisation": polars.Float64,
    "queue_bytes_mean": polars.Float64,
    "queue_bytes_max": polars.UInt64,
}


@dataclass(frozen=True)
class Result:
    """One run: series, point of the sweep, seed, and the folder with its files."""

    folder: Path
    series: str
    point: dict[str, str]
    seed: int

    @property
    def group(self) -> str:
        """Series and point of the sweep: what it has in common with runs of other seeds."""
        return " ".join([self.series, *(f"{key}={at}" for key, at in self.point.items())]).strip()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json."""
        return read_json(self.folder / "summary.json")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """manifest.json: what made the result."""
        return read_json(self.folder / "manifest.json")

    def scan(self) -> polars.LazyFrame:
        """flows.csv as a lazy frame: what is not asked for is not read."""
        return scan(self.folder / "flows.csv", FLOWS, "flows")

    @property
    def flows(self) -> polars.DataFrame:
        """One row a flow, times in picoseconds; null where a flow has no such number."""
        return self.scan().collect(engine="streaming")

    @property
    def links(self) -> polars.DataFrame:
        """One row a switch port with its link: what left it in the run, and what it did."""
        return (
            counted(self.folder / "ports.csv", PORTS, "ports")
            .with_columns(
                layer=polars.col("name").str.replace_all(r" \d+", ""),
                utilisation=polars.col("bytes")
                * (8e12 / self.summary["simulated_ps"])
                / polars.col("rate_bps"),
            )
            .collect()
        )

    @property
    def queues(self) -> polars.DataFrame:
        """Queues and utilisation over time, one row a layer of ports and sample."""
        return counted(self.folder / "series.csv", SERIES, "series").collect()

    @property
    def timeline(self) -> polars.DataFrame:
        """What happened event by event, where the scenario asks (`output.timeline`)."""
        return scan(self.folder / "timeline.csv", {}, "timeline").collect()


@dataclass(frozen=True)
class Results(Sequence[Result]):
    """Runs of one scenario or of several, in order."""

    folder: Path
    runs: tuple[Result, ...] = field(repr=False)

    @staticmethod
    def read(*folders: str | Path) -> Results:
        """Every result at or below the folders. A run without its manifest is no result."""
        runs: list[Result] = []
        for folder in map(Path, folders):
            found = sorted(path.parent for path in folder.rglob("manifest.json"))
            for path in found:
                parts = path.relative_to(folder).parts
                if not any(part.startswith(".") for part in parts):
                    runs.append(read_result(path))
        if not runs:
            raise MalformedResult(f"{', '.join(map(str, folders))}: no result with a manifest.json")
        return Results(Path(folders[0]), tuple(runs))

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.runs)

    def __getitem__(self, place: Any) -> Any:
        return self.runs[place]

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {len(self.runs)} runs)"

    def scan(self) -> polars.LazyFrame:
        """All flows as a lazy frame, with the run's series, point and seed as columns."""
        frames = [keyed(run, run.scan()) for run in self.runs]
        return polars.concat(frames, how="diagonal")

    @property
    def flows(self) -> polars.DataFrame:
        """All flows; of results too large for memory use `scan()`."""
        return self.scan().collect(engine="streaming")

    @property
    def links(self) -> polars.DataFrame:
        """All switch ports (`output.ports`)."""
        return self._all("links")

    @property
    def queues(self) -> polars.DataFrame:
        """Queues and utilisation over time (`output.series`)."""
        return self._all("queues")

    def _all(self, frame: str) -> polars.DataFrame:
        lazy = [keyed(run, getattr(run, frame).lazy()) for run in self.runs]
        return polars.concat(lazy, how="diagonal").collect()

    def groups(self) -> dict[str, list[Result]]:
        """Runs that differ in nothing but their seed, by series and point: `ndp senders=11`."""
        groups: dict[str, list[Result]] = {}
        for run in self.runs:
            groups.setdefault(run.group, []).append(run)
        return groups


def keyed(run: Result, frame: polars.LazyFrame) -> polars.LazyFrame:
    """A frame with the columns that tell its run from others, in front."""
    own: dict[str, Any] = {"series": run.series, "seed": run.seed, **run.point}
    columns = [polars.lit(value).alias(name) for name, value in own.items()]
    return frame.select(*columns, polars.all())


def scan(path: Path, types: dict[str, Any], table: str) -> polars.LazyFrame:
    """A table of a result; `table` is its word in the scenario's `output`."""
    if not path.is_file():
        raise MalformedResult(f"{path} is missing: the scenario must ask for it (output.{table})")
    return polars.scan_csv(path, schema_overrides=types)


def counters(path: Path, others: dict[str, Any]) -> list[str]:
    """The counters of ports in a table, by name: its columns that are none of `others`."""
    with path.open(encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file), [])
    return [column for column in columns if column not in others]


def counted(path: Path, others: dict[str, Any], table: str) -> polars.LazyFrame:
    """A table with counters of ports; `others` are the types of its other columns."""
    frame = scan(path, others, table)
    return frame.cast(dict.fromkeys(counters(path, others), polars.UInt64))


def read_result(folder: Path) -> Result:
    """The result in a folder."""
    manifest = read_json(folder / "manifest.json")
    summary = read_json(folder / "summary.json")
    try:
        name = str(manifest["run"])
        result = Result(folder, str(summary["series"]), point_of(Path(name)), int(summary["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResult(f"{folder}: no usable {error} in manifest and summary") from error
    return result
