"""`Results.slowdown` and `Results.cdf`: distributions of flows by group of runs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars

from trimline.comparison import SIZES, by_size, ended, size_name
from trimline.files import MalformedResult
from trimline.means import Measure, quantile
from trimline.results import FLOWS, keyed

if TYPE_CHECKING:
    from trimline.results import Result, Results

#: The classes of flow sizes, in order.
CLASSES = [size_name(low, high) for low, high in pairwise((0.0, *SIZES))]

#: The quantiles of a table of slowdowns.
QUANTILES = {"p50": 0.5, "p99": 0.99}


def slowdown(results: Results, by: str | None, *, include_stopped: bool) -> polars.DataFrame:
    """See `Results.slowdown`."""
    if by not in ("size", None):
        raise ValueError(f'slowdown by {by!r}; expected "size" or None')
    frames = []
    for runs in groups_of(results, include_stopped).values():
        seeds = [classes(run, by) for run in runs]
        rows: list[dict[str, Any]] = []
        for name in [each for each in ("", *CLASSES) if any(each in found for found in seeds)]:
            found = [flows[name]["slowdown"] for flows in seeds if name in flows]
            row = {"size": name, "flows": sum(map(len, found)), "seeds": len(found)}
            for word, share in QUANTILES.items():
                measure = Measure.of([quantile(values, share) for values in found])
                row |= {word: measure and measure.mean}
                row |= {f"{word} ±": measure and measure.half_width}
            rows.append(row)
        schema: dict[str, Any] = {
            "size": polars.Enum(CLASSES),
            "flows": polars.Int64,
            "seeds": polars.Int64,
        }
        schema |= {name: polars.Float64 for word in QUANTILES for name in (word, f"{word} ±")}
        if by is None:
            del schema["size"]
        frames.append(grouped(results, runs[0], polars.DataFrame(rows, schema)))
    return polars.concat(frames, how="diagonal") if frames else polars.DataFrame()


def groups_of(results: Results, include_stopped: bool = False) -> dict[str, list[Result]]:
    """The groups of the results; an error if all runs were stopped and none is to be included."""
    groups = results.groups(include_stopped=include_stopped)
    if results.stopped and not groups:
        raise MalformedResult(
            f"{results.folder}: every run was stopped before its end; "
            "pass include_stopped=True, or run again"
        )
    return groups


def classes(run: Result, by: str | None) -> dict[str, polars.DataFrame]:
    """The delivered flows of a run that have a slowdown, by class of size."""
    flows = ended(run).filter(polars.col("slowdown").is_not_null())
    if by is None:
        return {"": flows} if len(flows) else {}
    return {size_name(low, high): chosen for low, high, chosen in by_size(flows)}


def cdf(results: Results, column: str, *, include_stopped: bool) -> polars.DataFrame:
    """See `Results.cdf`."""
    if column not in FLOWS or not FLOWS[column].is_numeric():
        numbers = ", ".join(name for name, kind in FLOWS.items() if kind.is_numeric())
        raise ValueError(f"no numbers in a column {column!r} of flows; expected one of {numbers}")
    frames = []
    for runs in groups_of(results, include_stopped).values():
        each = [run.scan().select(column).drop_nulls() for run in runs]
        frame = polars.concat(each).sort(column).collect(engine="streaming")
        share = polars.int_range(1, polars.len() + 1) / polars.len()
        frames.append(grouped(results, runs[0], frame.with_columns(share=share)))
    return polars.concat(frames, how="diagonal") if frames else polars.DataFrame()


def grouped(results: Results, run: Result, frame: polars.DataFrame) -> polars.DataFrame:
    """A frame with series and point of a group in front."""
    return keyed(run, frame.lazy(), results.types).drop("seed", "interrupted").collect()
