"""Chosen flows and ports over time (`output.series`), as plots of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars

from trimline.curves import by_place, rounded, spread
from trimline.results import FLOW_SERIES, PORT_SERIES, Result, counters

#: Curves of one plot: more would hide each other.
MAX = 8

#: A plot: its heading, a note, and what the page's script draws.
Plot = tuple[str, str, dict[str, Any]]

#: Who a row of flow_series.csv is of.
WHO = ("workload", "index", "source", "destination")

#: What is counted of every flow, with words and scale. Other columns are a transport's own.
COUNTED = {
    "rate_bps": ("Rate of delivery (Gb/s)", 1e-9),
    "packets_sent": ("Packets sent in each interval", 1.0),
    "retransmissions": ("Packets sent again in each interval", 1.0),
    "trims": ("Trimmed headers at the receiver in each interval", 1.0),
    "returns": ("Headers that came back in each interval", 1.0),
    "timeouts": ("Time-outs in each interval", 1.0),
    "delivered_bytes": ("Delivered in each interval (KB)", 1e-3),
}

#: Counters of ports that utilisation shows already.
SENT = ("packets", "bytes")


def flows(run: Result) -> list[Plot]:
    """A plot for each column of the chosen flows that is not zero throughout."""
    if not (run.folder / "flow_series.csv").is_file():
        return []
    rows = run.flow_series
    words = polars.format("{} {}: {} to {}", *(polars.col(who).cast(str) for who in WHO))
    rows = rows.with_columns(curve=words)
    own = [column for column in rows.columns if column not in (*FLOW_SERIES, "curve")]
    # What arrives is a rate already.
    shown = {name: how for name, how in COUNTED.items() if name != "delivered_bytes"}
    shown |= {column: named(column) for column in own}
    note = (
        "A curve for each chosen flow while it is under way; counts are of the time since the row "
        "before."
    )
    return plots(rows, shown, note)


def ports(run: Result) -> list[Plot]:
    """A plot for each column of the chosen ports that is not zero throughout."""
    path = run.folder / "port_series.csv"
    if not path.is_file():
        return []
    shown = {
        "queue_bytes": ("Queue (KB)", 1e-3),
        "utilisation": ("Utilisation (%)", 100.0),
        "stopped": ("Stopped by pauses (% of time)", 100.0),
    }
    for counter in counters(path, PORT_SERIES):
        if counter not in SENT:
            shown[counter] = (f"Packets {counter} in each interval", 1.0)
    rows = run.port_series.rename({"name": "curve"})
    return plots(rows, shown, "A curve for each chosen port.")


def named(column: str) -> tuple[str, float]:
    """A transport's column in words, with its scale."""
    words = column.removesuffix("_ps").removesuffix("_packets").replace("_", " ").capitalize()
    if column.endswith("_ps"):
        return f"{words} (µs)", 1e-6
    if column.endswith("_bps"):
        return f"{words.removesuffix(' bps')} (Gb/s)", 1e-9
    return (f"{words} (packets)" if column.endswith("_packets") else words), 1.0


def plots(rows: polars.DataFrame, shown: dict[str, tuple[str, float]], note: str) -> list[Plot]:
    """A plot for each of the columns that has something to show."""
    names = rows["curve"].unique(maintain_order=True).to_list()
    if len(names) > MAX:
        note += f" The first {MAX} of {len(names)}."
    times = rows["time_ps"].unique().sort()
    keep = [times[place] for place in spread(len(times))]
    found = []
    for column, (label, scale) in shown.items():
        if rows[column].sum():
            columns = [curve(rows, name, column, keep, scale) for name in names[:MAX]]
            plot = {"series": by_place(names[:MAX]), "data": [[ps / 1e6 for ps in keep], *columns]}
            found.append((label, note, plot | {"x": "Time (µs)", "y": label}))
    return found


def curve(
    rows: polars.DataFrame, name: str, column: str, times: Sequence[int], scale: float
) -> list[float | None]:
    """A column of one flow or port at these times; none where it has no row."""
    own = rows.filter(polars.col("curve") == name)
    values = dict(zip(own["time_ps"], own[column], strict=True))
    found = (values.get(time) for time in times)
    return [None if value is None else rounded(value * scale) for value in found]
