"""Completion times taken apart: the wait at the host, the idle network, and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars

from trimline import curves
from trimline.comparison import by_size, size_name
from trimline.looks import label_of
from trimline.means import short
from trimline.results import Result

#: Where no line is broken.
NO_BREAK = "\u00a0"

#: The parts of a completion time in the order of the table, each with its column of `parts`.
PARTS = (
    ("waited at the host", "host_wait_us"),
    ("idle network", "ideal_us"),
    ("everything else", "rest_us"),
)


def parts(run: Result) -> polars.DataFrame:
    """The flows that were delivered: their size, their completion time, and its parts, in µs.

    `host_wait_us` is the time until a flow's first packet began to leave, `ideal_us` the time in an
    idle network, and `rest_us` what is left: queues, pulls, windows, retransmissions.
    """
    microseconds = {
        "fct_us": "fct_receiver_ps",
        "host_wait_us": "host_wait_ps",
        "ideal_us": "ideal_fct_ps",
    }
    chosen = [(polars.col(column) / 1e6).alias(name) for name, column in microseconds.items()]
    flows = run.scan().select("size_bytes", *chosen).drop_nulls()
    rest = polars.col("fct_us") - polars.col("host_wait_us") - polars.col("ideal_us")
    return flows.with_columns(rest_us=rest).collect(engine="streaming")


def table(groups: Mapping[str, Sequence[Result]]) -> str:
    """Means over flows, a row for each series and range of sizes; empty without delivered flows."""
    rows = []
    for series, runs in groups.items():
        flows = polars.concat([parts(run) for run in runs])
        for low, high, chosen in by_size(flows):
            whole = float(chosen["fct_us"].sum()) or 1.0
            # Neither a size nor a time is broken over lines.
            size = size_name(low, high).replace(" ", NO_BREAK)
            cells = [label_of(series), size, f"{len(chosen):,}"]
            cells.append(short(whole / len(chosen)))
            for _, column in PARTS:
                part = float(chosen[column].sum())
                cell = f"{short(part / len(chosen))} ({100 * part / whole:.0f} %)"
                cells.append(cell.replace(" ", NO_BREAK))
            rows.append(cells)
    names = ("", "flow size", "flows", "completion time (µs)", *(name for name, _ in PARTS))
    return curves.table(names, rows) if rows else ""
