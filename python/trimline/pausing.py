"""Priority flow control in a report: what pauses did, and which ports wait for themselves."""

from __future__ import annotations

import html

import polars

from trimline.curves import table
from trimline.results import Result

#: Rows of the table of links.
MAX = 12

#: Links of a deadlock that are named.
MAX_NAMED = 24


def deadlock(run: Result) -> list[str]:
    """The links of paused ports that wait for each other for good: the run ended with them."""
    return [str(name) for name in (run.summary.get("pauses") or {}).get("deadlock", [])]


def stuck(run: Result, name: str) -> str:
    """Says which cycle of waiting ports ended a run; empty if no ports wait for each other."""
    links = deadlock(run)
    if not links:
        return ""
    more = f" and {len(links) - MAX_NAMED} more" if len(links) > MAX_NAMED else ""
    cycle = ", ".join(links[:MAX_NAMED])
    what = f"Deadlock in {name}: paused ports wait for each other for good, each for the next: "
    return f'<p class="note fails">{html.escape(f"{what}{cycle}{more}.")}</p>'


def section(run: Result) -> str:
    """Frames and stops of one run as tables; empty without priority flow control."""
    found = run.summary.get("pauses")
    if not found:
        return ""
    words = f"{found['sent']:,} pause frames."
    if longest := found["longest"]:
        share = percent(longest["stopped_ps"], run)
        words += f" {longest['name']} was stopped for the longest, {share} % of the time."
    if passed := found["cycles_passed"]:
        words += f" Paused ports waited for each other in a circle {passed} times, and continued."
    note = f'<p class="note">{html.escape(words)}</p>'
    if not (run.folder / "pauses.csv").is_file():
        return note + '<p class="note">pauses.csv has the links (output.ports).</p>'
    return note + by_layer(run.pauses) + by_link(run.pauses)


def percent(stopped_ps: int, run: Result) -> str:
    """A time as a share of the run."""
    return f"{100 * stopped_ps / max(run.summary['simulated_ps'], 1):.1f}"


def by_layer(pauses: polars.DataFrame) -> str:
    """Frames and stops of each layer."""
    sums = pauses.group_by("layer", maintain_order=True).agg(
        polars.len(),
        polars.col("sent", "received").sum(),
        polars.col("stopped").mean().alias("mean"),
        polars.col("stopped").max().alias("max"),
    )
    names = ("layer", "links", "frames sent", "received", "stopped, mean (%)", "at most (%)")
    rows = [
        (layer, f"{links:,}", f"{sent:,}", f"{received:,}", *shares(mean, largest))
        for layer, links, sent, received, mean, largest in sums.iter_rows()
    ]
    return table(names, rows)


def by_link(pauses: polars.DataFrame) -> str:
    """The links whose senders were stopped for the longest."""
    found = pauses.filter(polars.col("stopped_ps") > 0)
    found = found.sort("stopped_ps", descending=True, maintain_order=True)
    if not len(found):
        return ""
    names = ("stopped for the longest", "frames received", "stopped (ms)", "stopped (%)")
    rows = [
        (name, f"{received:,}", f"{stopped_ps / 1e9:.3f}", *shares(share))
        for name, received, stopped_ps, share in found.head(MAX)
        .select("name", "received", "stopped_ps", "stopped")
        .iter_rows()
    ]
    more = len(found) - MAX
    note = f'<p class="note">and {more} more links</p>' if more > 0 else ""
    return table(names, rows) + note


def shares(*values: float | None) -> tuple[str, ...]:
    """Shares in per cent."""
    return tuple("-" if value is None else f"{100 * value:.1f}" for value in values)
