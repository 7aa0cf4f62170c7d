"""Results: a folder a run, read as polars frames on access."""

from __future__ import annotations

import base64
import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars

from trimline.files import MalformedResult, read_json
from trimline.swept import Value, order, shown, type_of, typed

if TYPE_CHECKING:
    from trimline.plot.style import Drawing

#: flows.csv: a row of a flow takes about 130 bytes. Numbers that one adds up have 64 bits, because
#: a sum of narrower ones is as narrow. Signed, so that a difference below zero is below zero.
FLOWS: dict[str, Any] = {
    "workload": polars.Categorical,
    "index": polars.Int32,
    "id": polars.UInt32,
    "source": polars.Int32,
    "destination": polars.Int32,
    "size_bytes": polars.Int64,
    "start_ps": polars.Int64,
    "host_wait_ps": polars.Int64,
    "fct_receiver_ps": polars.Int64,
    "fct_sender_ps": polars.Int64,
    "ideal_fct_ps": polars.Int64,
    "ideal_fct_sender_ps": polars.Int64,
    "slowdown": polars.Float64,
    "delivered_bytes": polars.Int64,
    "measured_bytes": polars.Int64,
    "packets_sent": polars.Int64,
    "retransmissions_signalled": polars.Int64,
    "retransmissions_return": polars.Int64,
    "retransmissions_timeout": polars.Int64,
    "trims": polars.Int64,
    "returns": polars.Int64,
    "timeouts": polars.Int64,
    "end": polars.Categorical,
}

#: ports.csv: the columns that are no counters. Every other column is one (`counters`).
PORTS: dict[str, Any] = {"name": polars.String, "rate_bps": polars.Int64}

#: links.csv: a counter for each cause why a link did not bring a packet.
LINKS: dict[str, Any] = {
    "name": polars.String,
    "failed": polars.Int64,
    "lost": polars.Int64,
    "corrupted": polars.Int64,
    "rate_bps": polars.Int64,
}

#: pauses.csv: what priority flow control did on a link.
PAUSES: dict[str, Any] = {
    "name": polars.String,
    "sent": polars.Int64,
    "received": polars.Int64,
    "stopped_ps": polars.Int64,
}

#: paths.csv: how far data packets came.
PATHS: dict[str, Any] = {
    "workload": polars.Categorical,
    "up_to_bytes": polars.Int64,
    "links": polars.Int64,
    "detours": polars.Int64,
    "packets": polars.Int64,
}

#: hosts.csv: the column that is no counter. Every other column is one.
HOSTS: dict[str, Any] = {"host": polars.Int64}

#: series.csv: the columns that are no counters.
SERIES: dict[str, Any] = {
    "time_ps": polars.Int64,
    "layer": polars.Categorical,
    "utilisation": polars.Float64,
    "stopped": polars.Float64,
    "queue_bytes_mean": polars.Float64,
    "queue_bytes_max": polars.Int64,
    "data_queue_bytes_mean": polars.Float64,
}

#: flow_series.csv: the columns that every transport has. Others are a transport's own.
FLOW_SERIES: dict[str, Any] = {
    "time_ps": polars.Int64,
    "workload": polars.Categorical,
    "index": polars.Int32,
    "source": polars.Int32,
    "destination": polars.Int32,
    "rate_bps": polars.Int64,
    "packets_sent": polars.Int64,
    "retransmissions": polars.Int64,
    "trims": polars.Int64,
    "returns": polars.Int64,
    "timeouts": polars.Int64,
    "delivered_bytes": polars.Int64,
}

#: port_series.csv: the columns that are no counters.
PORT_SERIES: dict[str, Any] = {
    "time_ps": polars.Int64,
    "name": polars.String,
    "utilisation": polars.Float64,
    "stopped": polars.Float64,
    "queue_bytes": polars.Int64,
}

#: timeline.csv: the times.
TIMELINE: dict[str, Any] = {"time_ps": polars.Int64, "until_ps": polars.Int64}

#: A notebook shows no picture of more flows or more groups of runs.
DRAWN_FLOWS, DRAWN_GROUPS = 300_000, 8

#: Rows of the table of runs in a terminal or a notebook, and its columns.
SHOWN = 20
COLUMNS = ("run", "flows", "done", "FCT p50 us", "p99 us", "")


@dataclass(frozen=True)
class Result:
    """One run: series, point of the sweep, seed, and the folder with its files."""

    folder: Path
    series: str
    #: Swept values by key: numbers and booleans as such, quantities as the scenario writes them.
    point: dict[str, Value]
    seed: int
    #: The command's folder, where results of several are read together.
    origin: str = ""

    @property
    def group(self) -> str:
        """Series and point of the sweep: what it has in common with runs of other seeds."""
        at = (f"{key}={shown(value)}" for key, value in self.point.items())
        origin = f"{self.origin}:" if self.origin else ""
        return " ".join(part for part in (origin, self.series, *at) if part)

    @property
    def interrupted(self) -> bool:
        """True if the run was stopped before its end: its numbers are not the scenario's."""
        return bool(self.summary["interrupted"])

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
    def ports(self) -> polars.DataFrame:
        """ports.csv: a row a switch port with its link, what left it and what it did."""
        share = polars.lit(None, polars.Float64)
        if span := self.summary["simulated_ps"]:
            share = polars.col("bytes") * (8e12 / span) / polars.col("rate_bps")
        return (
            counted(self.folder / "ports.csv", PORTS, "ports")
            .with_columns(
                layer=polars.col("name").str.replace_all(r" \d+", ""),
                utilisation=share,
            )
            .collect()
        )

    @property
    def links(self) -> polars.DataFrame:
        """links.csv: a row a link, hosts' included, and the packets that it did not bring."""
        return scan(self.folder / "links.csv", LINKS, "links").collect()

    @property
    def pauses(self) -> polars.DataFrame:
        """pauses.csv: a row a link, hosts' included, its pause frames, and how long they acted.

        `stopped` is the share of the run in which the sender of the link was stopped.
        """
        span = self.summary["simulated_ps"]
        share = polars.col("stopped_ps") / span if span else polars.lit(None, polars.Float64)
        layer = polars.col("name").str.replace_all(r" \d+", "")
        frame = scan(self.folder / "pauses.csv", PAUSES, "ports, with switch.pfc")
        return frame.with_columns(layer=layer, stopped=share).collect()

    @property
    def paths(self) -> polars.DataFrame:
        """paths.csv: how many data packets came on how many links, by workload and size."""
        return scan(self.folder / "paths.csv", PATHS, "ports, with switch.detour").collect()

    @property
    def hosts(self) -> polars.DataFrame:
        """hosts.csv: a row a host, what its NIC's queue, processors and pacer did.

        `sending` and `receiving` are processor time over the measured interval.
        """
        what = "ports, with host.fifo, host.cpu or host.pacer"
        frame = counted(self.folder / "hosts.csv", HOSTS, what)
        span = self.summary["measured_ps"]
        parts = {
            name: polars.col(f"measured_{name}_ps") / span
            if span
            else polars.lit(None, polars.Float64)
            for name in ("sending", "receiving")
        }
        return frame.with_columns(**parts).collect()

    @property
    def queues(self) -> polars.DataFrame:
        """Queues, utilisation and pauses over time, one row a layer of ports and sample."""
        return counted(self.folder / "series.csv", SERIES, "series").collect()

    @property
    def flow_series(self) -> polars.DataFrame:
        """Chosen flows over time; columns of transports are floats, null where one has none."""
        path = self.folder / "flow_series.csv"
        frame = scan(path, FLOW_SERIES, "series.flows", everything=True)
        own = [name for name in frame.collect_schema().names() if name not in FLOW_SERIES]
        return frame.cast(dict.fromkeys(own, polars.Float64)).collect()

    @property
    def port_series(self) -> polars.DataFrame:
        """Chosen ports over time: queue, utilisation, and what they counted in each interval."""
        path = self.folder / "port_series.csv"
        return counted(path, PORT_SERIES, "series.ports").collect()

    @property
    def timeline(self) -> polars.DataFrame:
        """The events of a run one by one, where the scenario asks (`output.timeline`)."""
        return scan(self.folder / "timeline.csv", TIMELINE, "timeline").collect()


@dataclass(frozen=True)
class Results(Sequence[Result]):
    """Runs of one scenario or of several, in order."""

    folder: Path
    runs: tuple[Result, ...] = field(repr=False)

    @staticmethod
    def read(*folders: str | Path) -> Results:
        """Every result at or below the folders. A run without its manifest is no result.

        Runs of one command's folder must be of one scenario with the same settings: a folder into
        which something else was copied is refused. Results of several commands stay apart: each run
        has an `origin`, which is a column of every frame and the beginning of every group.
        """
        found: dict[Path, tuple[Result, Origin]] = {}
        for folder in map(Path, folders):
            for path in sorted(path.parent for path in folder.rglob("manifest.json")):
                parts = path.relative_to(folder).parts
                if not any(part.startswith(".") for part in parts):
                    # The same folder under another name is the same result.
                    result = read_result(path)
                    found.setdefault(path.resolve(), (result, Origin.of(result)))
        if not found:
            raise MalformedResult(f"{', '.join(map(str, folders))}: no result with a manifest.json")
        names = origins([origin for _, origin in found.values()])
        for run, origin in found.values():
            vars(run)["origin"] = names[origin.folder]
        made = Results(Path(folders[0]), tuple(run for run, _ in found.values()))
        return replace(made, runs=tuple(sorted(made.runs, key=made.place_of)))

    def place_of(self, run: Result) -> tuple[Any, ...]:
        """Sort key of a run in its folder: by series, swept values as sizes, seed."""
        at = tuple((key, order(value)) for key, value in run.point.items())
        return (run.origin, run.series, at, run.seed)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.runs)

    def __getitem__(self, place: Any) -> Any:
        return self.runs[place]

    def __repr__(self) -> str:
        """A row a run, for terminals."""
        table = text_of([COLUMNS, *(row(run) for run in self.runs[:SHOWN])])
        return f"{self.heading}\n{table}{self.rest}".rstrip()

    def _repr_html_(self) -> str:
        """A row a run, for notebooks."""

        def line(tag: str, cells: Sequence[str]) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

        rows = "".join(line("td", row(run)) for run in self.runs[:SHOWN])
        table = f"<table>{line('th', COLUMNS)}{rows}</table>"
        return f"<p>{escape(self.heading)}</p>{table}<p>{self.rest}</p>{self._picture()}"

    def _picture(self) -> str:
        """The figure as HTML; empty where it would take seconds, or have more lines than it can."""
        flows = sum(run.summary["flows"]["total"] for run in self.runs)
        if not flows or flows > DRAWN_FLOWS or not 1 <= len(self.groups()) <= DRAWN_GROUPS:
            return ""
        image = base64.b64encode(self.plot()._repr_png_()).decode()
        return f'<img alt="completion times" src="data:image/png;base64,{image}">'

    @property
    def heading(self) -> str:
        """The folder and the number of runs."""
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        return f"Results({str(self.folder)!r}, {runs})"

    @property
    def rest(self) -> str:
        """The number of runs that tables leave out, in words."""
        more = len(self.runs) - SHOWN
        return f"and {more} more runs" if more > 0 else ""

    @cached_property
    def types(self) -> dict[str, Any]:
        """The types of swept keys as columns: numbers, or quantities in their order."""
        keys = dict.fromkeys(key for run in self.runs for key in run.point)
        return {
            key: type_of([run.point[key] for run in self.runs if key in run.point]) for key in keys
        }

    def scan(self) -> polars.LazyFrame:
        """All flows as a lazy frame, with the run's series, point and seed as columns.

        `interrupted` is true in the rows of runs that were stopped before their end.
        """
        frames = [keyed(run, run.scan(), self.types) for run in self.runs]
        return polars.concat(frames, how="diagonal")

    @property
    def flows(self) -> polars.DataFrame:
        """All flows; of results too large for memory use `scan()`."""
        return self.scan().collect(engine="streaming")

    @property
    def ports(self) -> polars.DataFrame:
        """All switch ports: ports.csv (`output.ports`)."""
        return self._all("ports")

    @property
    def links(self) -> polars.DataFrame:
        """All links, and what they did not bring: links.csv (`output.links`)."""
        return self._all("links")

    @property
    def pauses(self) -> polars.DataFrame:
        """All links of runs with priority flow control: pauses.csv (`output.ports`)."""
        lossless = tuple(run for run in self.runs if run.summary.get("pauses"))
        return replace(self, runs=lossless or self.runs)._all("pauses")

    @property
    def paths(self) -> polars.DataFrame:
        """The lengths of packets' paths in runs with detour: paths.csv (`output.ports`)."""
        there = tuple(run for run in self.runs if run.summary.get("paths"))
        return replace(self, runs=there or self.runs)._all("paths")

    @property
    def hosts(self) -> polars.DataFrame:
        """All hosts of runs with NICs, processors or pacers: hosts.csv (`output.ports`)."""
        there = tuple(run for run in self.runs if (run.folder / "hosts.csv").exists())
        return replace(self, runs=there or self.runs)._all("hosts")

    @property
    def queues(self) -> polars.DataFrame:
        """Queues and utilisation over time (`output.series`)."""
        return self._all("queues")

    @property
    def flow_series(self) -> polars.DataFrame:
        """Chosen flows over time (`output.series.flows`)."""
        return self._all("flow_series")

    @property
    def port_series(self) -> polars.DataFrame:
        """Chosen ports over time (`output.series.ports`)."""
        return self._all("port_series")

    def _all(self, frame: str) -> polars.DataFrame:
        lazy = [keyed(run, getattr(run, frame).lazy(), self.types) for run in self.runs]
        return polars.concat(lazy, how="diagonal").collect()

    @property
    def stopped(self) -> tuple[Result, ...]:
        """Runs that were stopped before their end."""
        return tuple(run for run in self.runs if run.interrupted)

    def groups(self, *, include_stopped: bool = False) -> dict[str, list[Result]]:
        """Runs that differ in nothing but their seed, by series and point: `ndp senders=11`.

        Runs that were stopped before their end are in no group unless asked for.
        """
        groups: dict[str, list[Result]] = {}
        for run in self.runs:
            if include_stopped or not run.interrupted:
                groups.setdefault(run.group, []).append(run)
        return groups

    def slowdown(
        self, by: str | None = "size", *, include_stopped: bool = False
    ) -> polars.DataFrame:
        """Slowdowns of the flows that were delivered: a row a group and class of flow sizes.

        Columns: series and swept keys, `size` (the class; absent with `by=None`), `flows` of all
        seeds, `seeds`, and `p50` and `p99` with half of their 95 % intervals (`p50 ±`, `p99 ±`;
        null of one seed). A quantile is by nearest rank in each seed; means are over seeds.
        """
        from trimline.distributions import slowdown  # noqa: PLC0415

        return slowdown(self, by, include_stopped=include_stopped)

    def cdf(self, column: str = "slowdown", *, include_stopped: bool = False) -> polars.DataFrame:
        """The distribution of a column of `flows` in each group, all seeds together.

        Columns: series and swept keys, the column in ascending order, and `share`: the share of
        the group's flows with at most this value.
        """
        from trimline.distributions import cdf  # noqa: PLC0415

        return cdf(self, column, include_stopped=include_stopped)

    def plot(self, *, include_stopped: bool = False) -> Drawing:
        """Completion times and slowdowns of flows with a size, goodput of the others."""
        from trimline.plot import comparison  # noqa: PLC0415

        return comparison.figure(self, include_stopped=include_stopped)


def keyed(run: Result, frame: polars.LazyFrame, types: Mapping[str, Any]) -> polars.LazyFrame:
    """A frame with the columns that tell its run from others, in front.

    A swept key that is named like a column that is there is called `swept_` and its name.
    """
    own: dict[str, Any] = {"origin": run.origin} if run.origin else {}
    own |= {"series": run.series}
    columns = [polars.lit(value).alias(name) for name, value in own.items()]
    columns.append(polars.lit(run.seed, polars.Int64).alias("seed"))
    taken = {*own, "seed", "interrupted", *frame.collect_schema().names()}
    columns += [
        polars.lit(value if types[name] in (polars.Int64, polars.Boolean) else shown(value))
        .cast(types[name])
        .alias(f"swept_{name}" if name in taken else name)
        for name, value in run.point.items()
    ]
    columns.append(polars.lit(run.interrupted).alias("interrupted"))
    return frame.select(*columns, polars.all())


@dataclass(frozen=True)
class Origin:
    """The origin of a result: the folder of its command, and what was run."""

    folder: Path
    place: Path
    fingerprint: str

    @staticmethod
    def of(result: Result) -> Origin:
        """From the result's manifest: its name is its place below the command's folder."""
        place = result.folder
        try:
            run, fingerprint = result.manifest["run"], result.manifest["scenario_sha256"]
        except KeyError as error:
            raise MalformedResult(f"{place}/manifest.json: no {error}") from error
        name, whole = Path(str(run)).parts, place.resolve()
        is_below = bool(name) and whole.parts[-len(name) :] == name
        folder = whole.parents[len(name) - 1] if is_below else whole
        return Origin(folder, place, str(fingerprint))


def origins(found: Sequence[Origin]) -> dict[Path, str]:
    """The names of commands' folders; a single one has none."""
    first: dict[Path, Origin] = {}
    for origin in found:
        known = first.setdefault(origin.folder, origin)
        if known.fingerprint != origin.fingerprint:
            raise MalformedResult(
                f"{origin.folder} holds runs of different scenarios or settings: {known.place} and "
                f"{origin.place}; run it again, or read them one by one"
            )
    if len(first) == 1:
        return dict.fromkeys(first, "")
    above = Path(os.path.commonpath([folder.parent for folder in first]))
    whole = {folder: str(folder.relative_to(above)) for folder in first}
    short = {folder: name.removesuffix("/runs") for folder, name in whole.items()}
    # `a` and `a/runs` are two folders.
    is_distinct = len(set(short.values())) == len(short)
    return short if is_distinct else whole


def row(run: Result) -> list[str]:
    """The cells of a run in a table of runs."""
    flows, fct = run.summary["flows"], run.summary["fct_receiver_us"]
    name = " ".join(part for part in (run.group, f"seed {run.seed}") if part)
    done = flows["completed"] + flows["delivered"]
    times = (f"{fct[key]:.1f}" if fct else "-" for key in ("p50", "p99"))
    stopped = "stopped" if run.interrupted else ""
    return [name, str(flows["total"]), str(done), *times, stopped]


#: Columns of a terminal.
TERMINAL = 80


def text_of(rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal of 80 columns, the first column flush left.

    Columns that do not fit stand below, in a further table with the same first column.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    tables: list[list[int]] = [[]]
    end = widths[0]
    for column, width in enumerate(widths[1:], start=1):
        end += 2 + width
        if end > TERMINAL and tables[-1]:
            tables.append([])
            end = widths[0] + 2 + width
        tables[-1].append(column)
    texts = []
    for columns in tables:
        lines = []
        for row in rows:
            line = [row[0].ljust(widths[0]), *(row[each].rjust(widths[each]) for each in columns)]
            lines.append("  ".join(line).rstrip() + "\n")
        texts.append("".join(lines))
    return "\n".join(texts)


def scan(
    path: Path, types: dict[str, Any], table: str, *, everything: bool = False
) -> polars.LazyFrame:
    """A table of a result; `table` is its word in the scenario's `output`.

    `everything` reads all rows before it says what other columns hold.
    """
    if not path.is_file():
        raise MalformedResult(f"{path} is missing: the scenario must ask for it (output.{table})")
    inferred = None if everything else 100
    return polars.scan_csv(path, schema_overrides=types, infer_schema_length=inferred)


def counters(path: Path, others: dict[str, Any]) -> list[str]:
    """The counters of ports in a table, by name: its columns that are none of `others`."""
    with path.open(encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file), [])
    return [column for column in columns if column not in others]


def counted(path: Path, others: dict[str, Any], table: str) -> polars.LazyFrame:
    """A table with counters of ports; `others` are the types of its other columns."""
    frame = scan(path, others, table)
    return frame.cast(dict.fromkeys(counters(path, others), polars.Int64))


def read_result(folder: Path) -> Result:
    """The result in a folder."""
    manifest = read_json(folder / "manifest.json")
    summary = read_json(folder / "summary.json")
    try:
        # A name has other characters where the file system wants them.
        point = typed({str(key): str(value) for key, value in manifest["point"]})
        _ = summary["interrupted"]
        result = Result(folder, str(summary["series"]), point, int(summary["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResult(f"{folder}: no usable {error} in manifest and summary") from error
    # They need not be read again.
    vars(result).update(manifest=manifest, summary=summary)
    return result
