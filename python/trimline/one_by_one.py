"""Chosen flows and ports over time (`output.series`), as plots of a report."""

from __future__ import annotations

import polars

from trimline.curves import Parts, by_part
from trimline.results import FLOW_SERIES, PORT_SERIES, Result, counters

#: Curves of one plot: more would hide each other.
MAX = 8

#: What a plot of each file shows.
NOTES = {
    "flow_series.csv": f"Chosen flows while they are under way, the first {MAX}; counts are of the "
    "time since the row before.",
    "port_series.csv": f"Chosen ports, the first {MAX}.",
}

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


def flows(run: Result) -> dict[str, Parts]:
    """Each column of the chosen flows over time, by its label."""
    rows = run.flow_series
    words = polars.format("{} {}: {} to {}", *(polars.col(who).cast(str) for who in WHO))
    rows = rows.with_columns(curve=words)
    own = [column for column in rows.columns if column not in (*FLOW_SERIES, "curve")]
    # What arrives is a rate already.
    shown = {name: how for name, how in COUNTED.items() if name != "delivered_bytes"}
    shown |= {column: named(column) for column in own}
    return parts(rows, shown)


def ports(run: Result) -> dict[str, Parts]:
    """Each column of the chosen ports over time, by its label."""
    shown = {
        "queue_bytes": ("Queue (KB)", 1e-3),
        "utilisation": ("Utilisation (%)", 100.0),
        "stopped": ("Stopped by pauses (% of time)", 100.0),
    }
    for counter in counters(run.folder / "port_series.csv", PORT_SERIES):
        if counter not in SENT:
            shown[counter] = (f"Packets {counter} in each interval", 1.0)
    return parts(run.port_series.rename({"name": "curve"}), shown)


def named(column: str) -> tuple[str, float]:
    """A transport's column in words, with its scale."""
    words = column.removesuffix("_ps").removesuffix("_packets").replace("_", " ").capitalize()
    if column.endswith("_ps"):
        return f"{words} (µs)", 1e-6
    if column.endswith("_bps"):
        return f"{words.removesuffix(' bps')} (Gb/s)", 1e-9
    return (f"{words} (packets)" if column.endswith("_packets") else words), 1.0


def parts(rows: polars.DataFrame, shown: dict[str, tuple[str, float]]) -> dict[str, Parts]:
    """The shown columns over time, each by its label."""
    names = rows["curve"].unique(maintain_order=True)[:MAX]
    rows = rows.filter(polars.col("curve").is_in(names.implode()))
    return {
        label: by_part(rows, "curve", column, scale) for column, (label, scale) in shown.items()
    }
