"""`trimline.compare` and what `trimline compare` shows: transports or schemes on one workload."""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars
import tomli_w

from trimline import _core
from trimline.files import MalformedResult
from trimline.means import Measure, quantile
from trimline.progress import counted
from trimline.results import Result, Results, text_of
from trimline.scenario import Scenario, ScenarioError, toml_value

#: Flow sizes of one row of the slowdown table, upper bounds in bytes.
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, math.inf)


@dataclass(frozen=True)
class Comparison:
    """Results by transport, their table and their figure."""

    results: Results
    #: A row a measure. Of each transport its mean over seeds (`ndp`), half of the 95 % interval
    #: (`ndp ±`, null of one seed) and the seeds that have such a number (`ndp seeds`).
    table: polars.DataFrame

    def draw(self, folder: str | Path | None = None) -> tuple[Path, ...]:
        """Draws the figure as PNG and PDF."""
        from trimline.plot import comparison  # noqa: PLC0415

        return tuple(comparison.write(self.results, Path(folder or self.results.folder)))

    def __str__(self) -> str:
        return text_of(cells(self.table))

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        rows = ("".join(f"<td>{escape(each)}</td>" for each in row) for row in cells(self.table))
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def compare(
    scenario: Scenario | str | Path | Mapping[str, Any],
    transports: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    schemes: Sequence[str] = (),
    settings: Iterable[str] | Mapping[str, Any] = (),
    seeds: int | str | Sequence[int] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool | None = None,
    timers: str | None = None,
    ignore_memory: bool = False,
) -> Comparison:
    """Runs a scenario with each transport, or with each scheme, and measures all alike.

    Everything else of the scenario stays: topology, links, workloads, seeds; its own series are
    left out. `settings` override its keys, as in `run`. Each transport runs over its own kind of
    switch, unless the scenario says `switch.profile`. `timers` is a preset of those transports
    that have timers: `linux`, `datacenter` or `rfc`. Timers that may decide more than the
    transports do are warned of, and so are payloads that differ. A scheme is a transport with its
    switches, phantom queues and pacers: one that is built in, or that has a table `scheme` in the
    scenario. Everything else is as in `sweep`.
    """
    from trimline.sweeping import chosen, sweep  # noqa: PLC0415

    if bool(transports) == bool(schemes):
        raise ScenarioError("`transports` or `schemes` are compared; expected one of the two")
    if schemes and timers is not None:
        raise ScenarioError("schemes have timers of their own; expected no `timers`")
    read = Scenario.of(scenario, settings=settings, seeds=seeds)
    if schemes:
        text = with_schemes(read.text, schemes)
    else:
        text = with_series(read.text, transports, timers)
    names = schemes or transports
    laid = replace(read, text=text, settings=(*asked(read.text), *read.settings))
    for sentence in laid.checked.cautions([run.place for run in chosen(laid, names)]):
        warnings.warn(sentence, stacklevel=2)
    folder = Path(out) if out is not None else read.folder("compare")
    results = sweep(
        laid,
        folder,
        workers=workers,
        scheduler=scheduler,
        resume=resume,
        progress=progress,
        series=names,
        ignore_memory=ignore_memory,
    )
    return Comparison(results, table(results))


def asked(text: str) -> tuple[str, ...]:
    """Settings that the table needs: links, and queues over time unless the scenario has them."""
    output = tomllib.loads(text).get("output", {})
    return ("output.ports=true", *(() if "series" in output else ('output.series="50us"',)))


def with_series(text: str, transports: Sequence[str], timers: str | None = None) -> str:
    """The scenario with a series for each transport, with these timers where it has any."""
    for name in transports:
        if not re.fullmatch("[a-z0-9_]+", name):
            raise ScenarioError(f"no transport {name!r}; expected names such as ndp and dctcp")
    preset = "" if timers is None else f" timers = {toml_value(timers)} "
    keys = {each: preset if _core.has_timers(each) else "" for each in transports}
    more = "".join(
        f'\n[[series]]\nname = "{each}"\ntransport.{each} = {{{keys[each]}}}\n'
        for each in transports
    )
    if can_be_added_to(text, transports):
        return text + more
    kept = {key: value for key, value in tomllib.loads(text).items() if key != "series"}
    return tomli_w.dumps(kept) + more


def can_be_added_to(text: str, transports: Sequence[str]) -> bool:
    """Returns whether series fit at the end of a scenario: errors then name lines of its file."""
    own = tomllib.loads(text).get("series", [])
    names = [each.get("name") for each in own if isinstance(each, dict)]
    try:
        tomllib.loads(f'{text}\n[[series]]\nname = "one"\n')
    except tomllib.TOMLDecodeError:
        # An inline list.
        return False
    return not any(name in names for name in transports)


def with_schemes(text: str, schemes: Sequence[str]) -> str:
    """The scenario without its series, with these schemes."""
    kept = {key: value for key, value in tomllib.loads(text).items() if key != "series"}
    return tomli_w.dumps({"schemes": list(schemes)} | {**kept, "schemes": list(schemes)})


def table(results: Results, *, include_stopped: bool = False) -> polars.DataFrame:
    """One row a measure; of each transport mean, half of the 95 % interval, and seeds."""
    return table_of(measured(results, include_stopped=include_stopped))


def measured(
    results: Results, *, include_stopped: bool = False
) -> dict[str, list[dict[str, float]]]:
    """The numbers of every run, by group."""
    groups = results.groups(include_stopped=include_stopped)
    every = [run for runs in groups.values() for run in runs]
    found = iter([measures(run) for run in counted(every, "reading runs")])
    return {name: [next(found) for _ in runs] for name, runs in groups.items()}


def table_of(measured: Mapping[str, Sequence[Mapping[str, float]]]) -> polars.DataFrame:
    """The table of these numbers."""
    names = rows_of(name for runs in measured.values() for run in runs for name in run)
    columns: list[polars.Series] = [polars.Series("measure", names, polars.String)]
    for group, runs in measured.items():
        # The first column has its name already.
        label = "series measure" if group == "measure" else group or "scenario"
        found = [[run[name] for run in runs if name in run] for name in names]
        each = [Measure.of(values) for values in found]
        means = [None if one is None else one.mean for one in each]
        halves = [None if one is None else one.half_width for one in each]
        columns += [
            polars.Series(label, means, polars.Float64),
            polars.Series(f"{label} ±", halves, polars.Float64),
            polars.Series(f"{label} seeds", [len(values) for values in found], polars.Int64),
        ]
    return polars.DataFrame(columns)


def rows_of(names: Iterable[str]) -> list[str]:
    """Names of measures, each once: as they came, but slowdowns by flow size."""
    there = list(dict.fromkeys(names))
    slowdowns = [name for name in SLOWDOWNS if name in there]
    others = [name for name in there if name not in slowdowns]
    first = next((at for at, name in enumerate(there) if name in slowdowns), 0)
    return [*others[:first], *slowdowns, *others[first:]]


def cells(frame: polars.DataFrame) -> list[list[str]]:
    """A table as people read it: a column a transport, `mean ± half`."""
    labels = frame.columns[1::3]
    rows = [["measure", *labels]]
    seeds = {label: max([0, *frame[f"{label} seeds"].to_list()]) for label in labels}
    for row in frame.iter_rows(named=True):
        line = [str(row["measure"])]
        for label in labels:
            count, largest = row[f"{label} seeds"], seeds[label]
            missing = None if count == largest else (count, largest)
            mean = row[label]
            known = mean is not None
            line.append(str(Measure(mean, row[f"{label} ±"], missing)) if known else "-")
        rows.append(line)
    return rows


def measures(run: Result) -> dict[str, float]:
    """The numbers of one run, by name with unit."""
    found: dict[str, float] = {}
    flows = ended(run)
    everything = (
        run.scan()
        .select(
            polars.len(),
            polars.col("size_bytes").count().alias("sized"),
            polars.col("measured_bytes").sum(),
        )
        .collect(engine="streaming")
    )
    total, sized, measured = everything.row(0)
    found["flows"] = total
    if sized:
        found["flows of a size, delivered (%)"] = 100 * len(flows) / sized
    if len(flows):
        # Of those delivered: a run that ends early leaves some on the way.
        found["FCT median (µs)"] = quantile(flows["fct_us"], 0.5)
        found["FCT p99 (µs)"] = quantile(flows["fct_us"], 0.99)
        for low, high, chosen in by_size(flows):
            for word, share in SHARES.items():
                name = slowdown_name(word, low, high)
                found[name] = quantile(chosen["slowdown"], share)
    summary = run.summary
    if summary["measured_ps"]:
        # A run that was stopped in its warm-up has measured nothing.
        found["goodput, all flows (Gb/s)"] = measured * 8_000 / summary["measured_ps"]
    sent = max(summary["packets_sent"], 1)
    again = summary["retransmissions"]
    found["retransmitted (% of packets)"] = 100 * sum(again.values()) / sent
    found["trimmed (% of packets)"] = 100 * summary["ports"]["trimmed"] / sent
    found["dropped (% of packets)"] = 100 * summary["ports"]["dropped"] / sent
    found["marked (% of packets)"] = 100 * summary["ports"]["marked"] / sent
    found["lost on links (% of packets)"] = 100 * sum(summary["links"].values()) / sent
    found["time-outs"] = summary["timeouts"]
    if pauses := summary.get("pauses"):
        found["pause frames"] = pauses["sent"]
        largest = pauses["longest"]["stopped_ps"] if pauses["longest"] else 0
        found["stopped, worst link (% of time)"] = 100 * largest / max(summary["simulated_ps"], 1)
    if (run.folder / "series.csv").is_file():
        found.update(over_time(run))
    return found


def over_time(run: Result) -> dict[str, float]:
    """Utilisation and queues of the layers, from the samples of the run after its warm-up."""
    begin = run.summary["simulated_ps"] - run.summary["measured_ps"]
    samples = (
        run.queues.filter(polars.col("time_ps") > begin)
        .group_by("layer", maintain_order=True)
        .agg(
            polars.col("utilisation").mean(),
            polars.col("queue_bytes_mean").mean(),
            polars.col("queue_bytes_max").max(),
        )
    )
    found = {}
    for layer, share, mean, largest in samples.iter_rows():
        found[f"utilisation, {layer} (%)"] = 100 * share
        what = "unsent" if str(layer).startswith("host") else "queue"
        found[f"{what}, {layer}, mean (KB)"] = mean / 1e3
        found[f"{what}, {layer}, largest (KB)"] = largest / 1e3
    return found


def ended(run: Result) -> polars.DataFrame:
    """Flows that were delivered: size, FCT, slowdown."""
    fct = (polars.col("fct_receiver_ps") / 1e6).alias("fct_us")
    flows = run.scan().select("size_bytes", "slowdown", fct)
    return flows.filter(polars.col("fct_us").is_not_null()).collect(engine="streaming")


def sized(run: Result) -> int:
    """Flows that have a size, delivered or not."""
    count = run.scan().select(polars.col("size_bytes").count()).collect(engine="streaming")
    return int(count.item())


def goodputs_gbps(run: Result) -> list[float]:
    """Goodput of each flow without end after the warm-up, ascending; empty if it never ended."""
    span = run.summary["measured_ps"]
    long = run.scan().filter(polars.col("size_bytes").is_null()).select("measured_bytes")
    measured = long.collect(engine="streaming")["measured_bytes"].sort() if span else ()
    return [value * 8_000 / span for value in measured]


def by_size(flows: polars.DataFrame) -> list[tuple[float, float, polars.DataFrame]]:
    """The flows of each range of sizes that has any: (beyond, up to, flows)."""
    ranges, low = [], 0.0
    for high in SIZES:
        size = polars.col("size_bytes")
        chosen = flows.filter((size > low) & (size <= high if math.isfinite(high) else size > 0))
        if len(chosen):
            ranges.append((low, high, chosen))
        low = high
    return ranges


def size_name(low: float, high: float) -> str:
    """A range of sizes in words: beyond the first, up to the second."""
    if not math.isfinite(high):
        return f"> {bytes_name(low)}"
    if not low:
        return f"≤ {bytes_name(high)}"
    below, above = bytes_name(low), bytes_name(high)
    same_unit = below.split(" ")[1] == above.split(" ")[1]
    return f"{below.split(' ')[0] if same_unit else below}–{above}"  # noqa: RUF001


def bytes_name(size: float) -> str:
    """A size as scenarios write it."""
    for unit, name in ((1e6, "MB"), (1e3, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def slowdown_name(word: str, low: float, high: float) -> str:
    """The table's name for a quantile of the slowdowns of a range of sizes."""
    return f"slowdown {word}, {size_name(low, high)}"


#: Quantiles of slowdowns, and all their names from the smallest flows to the largest.
SHARES = {"median": 0.5, "p99": 0.99}
SLOWDOWNS = [
    slowdown_name(word, low, high) for low, high in pairwise((0.0, *SIZES)) for word in SHARES
]


def entries(frame: polars.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: of each measure a number for each series."""
    labels = frame.columns[1::3]
    return [
        {
            "measure": row["measure"],
            "series": [
                {
                    "series": label,
                    "mean": row[label],
                    "half_width": row[f"{label} ±"],
                    "seeds": row[f"{label} seeds"],
                }
                for label in labels
            ],
        }
        for row in frame.iter_rows(named=True)
    ]


def main(arguments: Sequence[str]) -> int:
    """Entry point of `trimline compare`, after its runs: makes table and figure.

    The arguments are DIR NAME..., with --json in front for JSON in place of the text.
    """
    as_json = arguments[0] == "--json"
    folder, *names = arguments[1:] if as_json else arguments
    try:
        read = Results.read(folder)
        order = {name: place for place, name in enumerate(names)}
        runs = [run for run in read if run.series in order]
        # In the order of the command; what an earlier one left stays out.
        runs.sort(key=lambda run: order[run.series])
        results = Results(read.folder, tuple(runs))
        compared = Comparison(results, table(results))
        if not as_json:
            print(compared, end="")
        figures = compared.draw()
        if as_json:
            found = {"measures": entries(compared.table), "figures": [*map(str, figures)]}
            print(json.dumps(found))
        else:
            print(*figures, sep="\n")
    except MalformedResult as error:
        print(f"trimline compare: {error}", file=sys.stderr)
        return 1
    return 0


__all__ = ["Comparison", "compare", "table"]
