"""`trimline.report`: one HTML file of results, with nothing that a browser would have to fetch."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any

import polars

from trimline import completion, drawings, heat, one_by_one, pausing
from trimline.comparison import (
    by_size,
    cells,
    ended,
    goodputs_gbps,
    measured,
    size_name,
    sized,
    table_of,
)
from trimline.curves import Parts, by_part, by_place, rounded, spread, table
from trimline.files import MalformedResult
from trimline.looks import colours_of, label_of
from trimline.means import Measure, quantile
from trimline.progress import counted
from trimline.results import PORTS, SERIES, Result, Results, counters
from trimline.swept import order, shown, value_of

#: Curves of one plot, and drawings of one kind: more would hide each other.
MAX, MAX_DRAWINGS = 8, 4

#: Of larger networks (3-tier FatTrees beyond 4096 hosts) no link could be told from its neighbours.
MAX_PORTS = 5 * 4096
TOO_LARGE = '<p class="note">A network of this size is not drawn; ports.csv has its links.</p>'

#: Rows of the table of links that did not bring packets.
MAX_LINKS = 24

#: What is drawn over a swept key.
OVER_SWEEP = (
    "FCT median (µs)",
    "FCT p99 (µs)",
    "goodput, all flows (Gb/s)",
    "retransmitted (% of packets)",
)

#: The shown columns of samples over time. What a host has not sent is no queue of a port.
OVER_TIME = (
    ("utilisation", "Utilisation (%)", 100.0),
    ("stopped", "Stopped by pauses (% of time)", 100.0),
    ("queue_bytes_mean", "Mean queue of a port (KB)", 1e-3),
    ("queue_bytes_max", "Fullest port (KB)", 1e-3),
    ("data_queue_bytes_mean", "Mean queue of data (KB)", 1e-3),
)
UNSENT = (
    ("queue_bytes_mean", "Unsent bytes of a host, mean (KB)", 1e-3),
    ("queue_bytes_max", "Unsent bytes of a host, largest (KB)", 1e-3),
)
#: Counters of ports that utilisation shows already.
SENT = ("packets", "bytes")


def report(
    folders: Sequence[str | Path] | str | Path,
    out: str | Path | None = None,
    *,
    include_stopped: bool = False,
) -> Path:
    """Writes the report of the results in folders; gives its path (default: report.html there).

    Runs that were stopped before their end are named; they enter means and curves if asked.
    """
    chosen = [folders] if isinstance(folders, str | Path) else list(folders)
    results = Results.read(*chosen)
    target = Path(out) if out is not None else Path(chosen[0]) / "report.html"
    page = Page(results, [Path(folder) for folder in chosen], include_stopped).text()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return target


class Page:
    """A report in the making."""

    def __init__(
        self, results: Results, folders: Sequence[Path], include_stopped: bool = False
    ) -> None:
        """Nothing is read before `text`."""
        self.results = results
        self.folders = folders
        self.plots: list[dict[str, Any]] = []
        self.include_stopped = include_stopped
        self.groups = results.groups(include_stopped=include_stopped)
        # Of a long sweep some points are drawn; the table has all.
        names = list(self.groups)
        self.drawn = {names[place]: self.groups[names[place]] for place in spread(len(names), MAX)}
        self.colours = colours_of(self.drawn)
        self.measured = measured(results, include_stopped=include_stopped)

    def text(self) -> str:
        """The whole page."""
        first = self.results[0]
        title = str(first.manifest.get("scenario") or first.folder.name)
        sections = (
            self.stopped,
            self.verdicts,
            self.numbers,
            self.sweeps,
            self.completion,
            self.taken_apart,
            self.slowdown,
            self.throughput,
            self.over_time,
            self.heat,
            self.chosen,
            self.pauses,
            self.topology,
            self.sequence,
            self.made_of,
        )
        made = [section() for section in counted(sections, "report, sections")]
        body = "\n".join(filter(None, made))
        data = json.dumps(self.plots, separators=(",", ":")).replace("<", "\\u003c")
        runs = f"{len(self.results)} run" + ("s" if len(self.results) > 1 else "")
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<link rel="icon" href="data:,">'
            f"<title>{html.escape(title)}</title>\n<style>{asset('uPlot.min.css')}"
            f"{asset('report.css')}</style></head><body>\n<h1>{html.escape(title)}</h1>"
            f'<p class="note">{runs}, simulated by Trimline '
            f"{html.escape(str(first.manifest.get('version', '')))}. Click a curve's name to hide "
            f"it, drag to zoom, double-click for the whole.</p>\n{body}\n"
            f'<script type="application/json" id="data">{data}</script>\n'
            f"<script>{asset('uPlot.iife.min.js')}</script>\n"
            f"<script>{asset('report.js')}</script>\n</body></html>\n"
        )

    def plot(self, heading: str, note: str, plot: dict[str, Any]) -> str:
        """A plot that the page's script will draw."""
        plot["id"] = f"plot-{len(self.plots)}"
        self.plots.append(plot)
        return f'<h3>{html.escape(heading)}</h3><p class="note">{html.escape(note)}</p>' + (
            f'<div class="plot" id="{plot["id"]}"></div>'
        )

    def stopped(self) -> str:
        """Runs that are not what the scenario asks for."""
        found = self.results.stopped
        if not found:
            return ""
        names = ", ".join(f"{label_of(run.group)} seed {run.seed}" for run in found[:12])
        more = f" and {len(found) - 12} more" if len(found) > 12 else ""
        enters = (
            "They are in the numbers below." if self.include_stopped else "They enter no number."
        )
        what = f"Stopped before their end: {names}{more}. {enters}"
        named = (pausing.stuck(run, f"{label_of(run.group)} seed {run.seed}") for run in found)
        stuck = "".join([each for each in named if each][:MAX_DRAWINGS])
        return f'<p class="note fails">{html.escape(what)}</p>{stuck}'

    def verdicts(self) -> str:
        """The findings of the experiments in the folders."""
        parts = []
        for folder in self.folders:
            for path in sorted(folder.rglob("findings.json")):
                verdict = json.loads(path.read_text(encoding="utf-8"))
                name = html.escape(str(verdict.get("id", path.parent)))
                parts.append(f"<h3>{name}</h3>" + findings(verdict.get("findings", [])))
        return "<h2>Findings</h2>" + "".join(parts) if parts else ""

    def numbers(self) -> str:
        """The table of a comparison, one column a series."""
        rows = cells(table_of(self.measured))
        rows[0] = ["", *map(label_of, self.measured)]
        if len(rows[0]) > MAX:
            # A sweep: a line for each point.
            rows = [list(row) for row in zip(*rows, strict=True)]
        note = ""
        if any(len(runs) > 1 for runs in self.groups.values()):
            note = "Means over seeds with 95 % intervals. "
        if len(self.drawn) < len(self.groups):
            note += f"Below, {len(self.drawn)} of these {len(self.groups)} are drawn."
        return f'<h2>Numbers</h2><p class="note">{note}</p>{table(rows[0], rows[1:])}'

    def completion(self) -> str:
        """CDFs of flow completion times."""
        curves = []
        for series, runs in self.drawn.items():
            fct = polars.concat([ended(run) for run in runs])["fct_us"].sort()
            if len(fct):
                places = spread(len(fct))
                count = sum(sized(run) for run in runs)
                curves.append((series, [fct[place] for place in places], places, count))
        if not curves:
            return ""
        xs = sorted({value for _, values, _, _ in curves for value in values})
        columns = []
        for _, values, places, count in curves:
            shares = {v: 100 * (p + 1) / count for v, p in zip(values, places, strict=True)}
            columns.append([rounded(shares.get(x)) for x in xs])
        names = [series for series, *_ in curves]
        plot = self.curves(names, [rounded(x) for x in xs], columns)
        for each, (_, times, _, _) in zip(plot["series"], curves, strict=True):
            # Of one time there is no line.
            each["points"] = times[0] == times[-1]
        plot |= {"x": "Flow completion time (µs)", "y": "Flows (%)", "xlog": True, "ymax": 100}
        note = "From a flow's start to its last byte at the receiver, all seeds together. "
        note += "A curve ends below 100 % where flows were not delivered."
        return "<h2>Flows</h2>" + self.plot("Completion times", note, plot)

    def taken_apart(self) -> str:
        """Means of the parts of completion times, by flow size."""
        table = completion.table(self.drawn)
        note = (
            "Means over flows, all seeds together. A flow waits at its host until its first packet "
            "begins to leave. The idle network is the least time. Everything else is queues, "
            "pulls, windows and retransmissions."
        )
        return f'<h3>Where the time goes</h3><p class="note">{note}</p>{table}' if table else ""

    def slowdown(self) -> str:
        """Slowdown by flow size: median and 99th percentile."""
        values: dict[tuple[str, str], dict[str, float]] = {}
        places: dict[str, float] = {}
        for series, runs in self.drawn.items():
            flows = polars.concat([ended(run) for run in runs])
            for low, high, chosen in by_size(flows):
                name = size_name(low, high)
                places[name] = low
                for share, word in ((0.5, "median"), (0.99, "p99")):
                    found = values.setdefault((series, word), {})
                    found[name] = quantile(chosen["slowdown"], share)
        if not values:
            return ""
        # Some series may lack the smaller ones.
        names = sorted(places, key=lambda name: places[name])
        columns = [[rounded(row.get(name)) for name in names] for row in values.values()]
        plot = self.curves([series for series, _ in values], list(range(len(names))), columns)
        for each, (series, word) in zip(plot["series"], values, strict=True):
            each |= {"name": f"{label_of(series)} {word}", "dash": int(word == "p99")}
        plot |= {"x": "Flow size", "y": "Slowdown", "ylog": True, "points": True}
        plot["ticks"] = names
        return self.plot("Slowdown by size", "Completion time over that in an idle network.", plot)

    def throughput(self) -> str:
        """Goodput of long-lived flows by rank: a mean over seeds, and the seeds as a band."""
        ranked = {}
        for series, runs in self.drawn.items():
            seeds = [goodputs_gbps(run) for run in runs]
            largest = max(map(len, seeds), default=0)
            # A rank means the same only among seeds with the same flow count.
            same = [values for values in seeds if len(values) == largest]
            if largest:
                ranked[series] = list(zip(*same, strict=True))
        if not ranked:
            return ""
        xs = list(spread(max(map(len, ranked.values()))))

        def column(rank: Callable[[Sequence[float]], float], by_rank: list[Any]) -> list[Any]:
            return [rounded(rank(by_rank[x])) if x < len(by_rank) else None for x in xs]

        columns = [column(fmean, by_rank) for by_rank in ranked.values()]
        if xs == [0]:
            # One flow has no rank: a point a series.
            places = list(range(len(ranked)))
            points = [
                [mean if at == place else None for at in places]
                for place, (mean,) in enumerate(columns)
            ]
            plot = self.curves(list(ranked), places, points)
            plot |= {"x": "Series", "y": "Goodput (Gb/s)", "points": True}
            plot["ticks"] = [label_of(series) for series in ranked]
            note = "After the warm-up, the mean over seeds."
            return self.plot("Throughput of the long-lived flow", note, plot)
        plot = self.curves(list(ranked), xs, columns)
        bands = [column(each, by_rank) for by_rank in ranked.values() for each in (min, max)]
        note = "After the warm-up."
        if any(len(by_rank[0]) > 1 for by_rank in ranked.values()):
            note += " The mean over seeds; a band holds all of them."
            plot["data"] += bands
            plot["bands"] = len(ranked)
        plot |= {"x": "Flow, by rank", "y": "Goodput (Gb/s)", "integers": True}
        return self.plot("Throughput of long-lived flows", note, plot)

    def sweeps(self) -> str:
        """Each number over each swept key: a curve for all that is the same but the key."""
        parts = []
        for key in self.results.types:
            lines: dict[str, dict[str, str]] = {}
            for group, runs in self.groups.items():
                run = runs[0]
                if key in run.point:
                    rest = {name: value for name, value in run.point.items() if name != key}
                    line = replace(run, point=rest).group
                    lines.setdefault(line, {})[shown(run.point[key])] = group
            labels = in_order({label for line in lines.values() for label in line})
            if len(labels) < 2:
                continue
            chosen = {name: lines[name] for name in list(lines)[:MAX]}
            parts += [self.over_key(key, labels, chosen, measure) for measure in OVER_SWEEP]
        found = [part for part in parts if part]
        return "<h2>Over what was swept</h2>" + "".join(found) if found else ""

    def over_key(
        self, key: str, labels: list[str], lines: dict[str, dict[str, str]], measure: str
    ) -> str:
        """One number over a key, its interval as a band; empty if no run has it."""
        columns: list[list[Any]] = []
        bands: list[list[Any]] = []
        for line in lines.values():
            values = [self.measured[line[label]] if label in line else () for label in labels]
            found = [Measure.of([run.get(measure) for run in runs]) for runs in values]
            columns.append([each and rounded(each.mean) for each in found])
            half = [each.half_width or 0.0 if each else 0.0 for each in found]
            for sign in (-1, 1):
                ends = zip(found, half, strict=True)
                bands.append(
                    [each and rounded(each.mean + sign * largest) for each, largest in ends]
                )
        if not any(value is not None for column in columns for value in column):
            return ""
        plot = self.curves(list(lines), list(range(len(labels))), columns)
        plot |= {"x": key, "y": measure, "ticks": labels, "points": True}
        note = "Mean over seeds."
        if any(low != high for low, high in zip(bands[::2], bands[1::2], strict=True)):
            plot["data"] += bands
            plot["bands"] = len(lines)
            note += " A band is the 95 % interval."
        more = "" if len(lines) < MAX else f" The first {MAX} curves."
        return self.plot(f"{measure} over {key}", f"{note}{more}", plot)

    def over_time(self) -> str:
        """Utilisation and queues of the layers over time, of the first run of each series."""
        runs = self.first_with("series.csv")
        samples = {group: run.queues for group, run in runs.items()}
        counted = [
            name for run in runs.values() for name in counters(run.folder / "series.csv", SERIES)
        ]
        events = [
            (counter, f"Packets {counter} in each interval", 1.0)
            for counter in dict.fromkeys(counted)
            if counter not in SENT
        ]
        of_ports = "By layer of switch ports. A packet counts when it begins to leave."
        of_hosts = "What hosts have not sent once, of flows of a size."
        is_host = polars.col("layer").cast(polars.String).str.starts_with("host")
        shown = [
            *((each, of_ports, ~is_host) for each in OVER_TIME if "queue" in each[0]),
            *((each, of_hosts, is_host) for each in UNSENT),
        ]
        links = "By layer of switch ports, and of hosts' links."
        both = [each for each in OVER_TIME if "queue" not in each[0]]
        shown[:0] = [(each, links, polars.lit(value=True)) for each in both]
        shown += [(each, links, polars.lit(value=True)) for each in events]
        parts = []
        for (column, label, scale), note, chosen in shown:
            timed = {}
            for group, every in samples.items():
                if column in every.columns:
                    rows = every.filter(chosen)
                    timed[group] = by_part(rows, "layer", column, scale)
            parts.append(self.overlaid(label, note, timed, runs))
        found = "".join(parts)
        return f"<h2>Over time</h2>{found}" if found else ""

    def first_with(self, file: str) -> dict[str, Result]:
        """The first run of each drawn series that has this file."""
        first = {group: runs[0] for group, runs in self.drawn.items()}
        return {group: run for group, run in first.items() if (run.folder / file).is_file()}

    def overlaid(
        self,
        label: str,
        note: str,
        timed: Mapping[str, Parts],
        runs: Mapping[str, Result],
    ) -> str:
        """A number over time: a curve a series, of the part that the reader chooses.

        Of a single series every part is a curve. Empty if the number is nothing throughout.
        """
        largest: dict[str, float] = {}
        for parts in timed.values():
            for part, values in parts.items():
                largest[part] = max(largest.get(part, 0.0), *values.values())
        if not any(largest.values()):
            return ""
        every = {time for parts in timed.values() for values in parts.values() for time in values}
        times = sorted(every)
        keep = [times[place] for place in spread(len(times))]
        xs = [rounded(time / 1e6) for time in keep]

        def column(values: Mapping[int, float]) -> list[float | None]:
            return [rounded(values.get(time)) for time in keep]

        if len(timed) == 1:
            ((group, parts),) = timed.items()
            plot: dict[str, Any] = {"series": by_place(list(parts))}
            plot["data"] = [xs, *map(column, parts.values())]
            label_of_run = f"{label}: {label_of(group)}, seed {runs[group].seed}"
        else:
            choices = {
                part: [column(parts.get(part, {})) for parts in timed.values()] for part in largest
            }
            # Ports of switches before links of hosts.
            first = max(largest, key=lambda part: (not part.startswith("host"), largest[part]))
            plot = self.curves(list(timed), xs, choices[first])
            plot |= {"choices": choices, "choice": first}
            label_of_run = f"{label}: the first seed of each series"
        changes = {
            (change["at_ps"] / 1e6, str(change["what"]))
            for run in runs.values()
            for change in run.manifest.get("link_events", [])
        }
        plot |= {"x": "Time (µs)", "y": label, "events": sorted(changes)}
        return self.plot(label_of_run, note, plot)

    def heat(self) -> str:
        """The places of queues over time, in the first run of each series."""
        parts = []
        for series, runs in list(self.drawn.items())[:MAX_DRAWINGS]:
            if (runs[0].folder / "series.csv").is_file() and (drawing := heat.queues(runs[0])):
                name = html.escape(f"{label_of(series)}, seed {runs[0].seed}")
                parts.append(f"<h3>{name}</h3>{drawing}")
        note = (
            "The fullest port of a layer in each interval; a row for each pod that "
            "output.series.pods names. Point at a cell for its bytes."
        )
        head = f'<h2>Where queues were</h2><p class="note">{note}</p>'
        return head + "".join(parts) if parts else ""

    def chosen(self) -> str:
        """Chosen flows and ports over time, of the first run of each series."""
        parts = []
        for file, read in (
            ("flow_series.csv", one_by_one.flows),
            ("port_series.csv", one_by_one.ports),
        ):
            runs = self.first_with(file)
            found = {group: read(run) for group, run in runs.items()}
            for label in dict.fromkeys(label for each in found.values() for label in each):
                timed = {group: each[label] for group, each in found.items() if label in each}
                parts.append(self.overlaid(label, one_by_one.NOTES[file], timed, runs))
        return "<h2>Chosen flows and ports</h2>" + "".join(parts) if any(parts) else ""

    def pauses(self) -> str:
        """The effects of priority flow control, in the first run of each series."""
        parts = []
        # A run that waits for itself enters no number. What it waits for is seen here all the same.
        stuck = [run for run in self.results.stopped if pausing.deadlock(run)]
        shown = [runs[0] for runs in self.drawn.values()]
        shown += [run for run in stuck if run not in shown]
        for run in shown[:MAX_DRAWINGS]:
            tables = pausing.section(run)
            if tables:
                name = html.escape(f"{label_of(run.group)}, seed {run.seed}")
                parts.append(f"<h3>{name}</h3>{tables}")
        note = (
            "Priority flow control: frames that tell the other end of a link to stop, and for how "
            "much of the run they stopped the sender of a link in any class."
        )
        return f'<h2>Pauses</h2><p class="note">{note}</p>' + "".join(parts) if parts else ""

    def topology(self) -> str:
        """The network, links coloured by their utilisation."""
        parts = []
        for series, runs in list(self.drawn.items())[:MAX_DRAWINGS]:
            if (runs[0].folder / "ports.csv").is_file():
                links = runs[0].ports
                counted = counters(runs[0].folder / "ports.csv", PORTS)
                drawing = drawings.topology(links) if len(links) <= MAX_PORTS else TOO_LARGE
                if drawing:
                    name = html.escape(f"{label_of(series)}, seed {runs[0].seed}")
                    whole = f'<div class="wide">{drawing}</div>'
                    parts.append(f"<h3>{name}</h3>{whole}{counted_by_layer(links, counted)}")
            lost = lossy(runs[0])
            if lost:
                name = html.escape(f"{label_of(series)}, seed {runs[0].seed}")
                parts.append(f"<h3>{name}: packets that links did not bring</h3>{lost}")
        note = (
            "Each line is a link, coloured by the busier of its two directions over the whole run, "
            "a host's link by the direction to the host. Point at one for its numbers."
        )
        head = f'<h2>Network</h2><p class="note">{note}</p>{drawings.scale()}'
        return head + "".join(parts) if parts else ""

    def sequence(self) -> str:
        """The events of the packets of a timeline."""
        parts = []
        for run in [runs[0] for runs in self.drawn.values()][:MAX_DRAWINGS]:
            if (run.folder / "timeline.csv").is_file():
                drawing = drawings.sequence(run.timeline)
                if drawing:
                    name = html.escape(f"{label_of(run.group)}, seed {run.seed}")
                    whole = f'<div class="wide">{drawing}</div>'
                    parts.append(f"<h3>{name}</h3>{apart(run)}{whole}")
        note = (
            "Time runs down. Trimmed headers, NACKs, PULLs and what they bring, as they happened. "
            "A thick line straight down is a packet that waits in a queue; a number is that of a "
            "packet where it begins."
        )
        head = f'<h2>Packets</h2><p class="note">{note}</p>{drawings.kinds()}'
        return head + "".join(parts) if parts else ""

    def made_of(self) -> str:
        """Manifests: what made the results."""
        rows = []
        for run in self.results.runs[:200]:
            text = html.escape(json.dumps(run.manifest, indent=2))
            mark = " (stopped before its end)" if run.interrupted else ""
            name = html.escape(str(run.manifest.get("run", run.folder.name)) + mark)
            rows.append(f"<details><summary>{name}</summary><pre>{text}</pre></details>")
        scenario = ""
        for run in self.results.runs[:1]:
            path = run.folder / "scenario.toml"
            if path.is_file():
                text = html.escape(path.read_text(encoding="utf-8"))
                scenario = f"<h3>Scenario</h3><pre>{text}</pre>"
        more = len(self.results) - len(rows)
        note = f'<p class="note">and {more} more runs</p>' if more > 0 else ""
        return f"<h2>Made of</h2>{scenario}<h3>Manifests</h3>{''.join(rows)}{note}"

    def curves(self, names: list[str], xs: list[Any], columns: list[list[Any]]) -> dict[str, Any]:
        """Curves over the same places, each group with its colour."""
        colours = {**colours_of(names), **self.colours}
        series = [
            {"name": label_of(name), "colour": colours[name], "dash": place}
            for place, name in enumerate(names)
        ]
        return {"series": series, "data": [xs, *columns]}


def in_order(labels: set[str]) -> list[str]:
    """Values of a swept key from the least to the largest."""
    return sorted(labels, key=lambda label: order(value_of(label)))


#: Of a finding that is missed, what is known: what the authors' program gives, or a cause.
MISSED = {
    "as-baseline": "misses the paper, as the baseline does",
    "both": "misses both",
    "no-program": "misses the paper; no program",
    "cause-known": "does not hold; cause known",
}


def of_baseline(row: dict[str, Any]) -> str:
    """The number of the authors' program for a finding, or of their files."""
    baseline = row.get("baseline")
    if not baseline:
        return cell(row.get("reference"))
    smallest, greatest = cell(baseline["from"]), cell(baseline["to"])
    return smallest if smallest == greatest else f"{smallest}..{greatest}"


def findings(rows: Sequence[dict[str, Any]]) -> str:
    """The verdicts of an experiment as a table."""
    lines = []
    for row in rows:
        low, high = row.get("lo"), row.get("hi")
        ends = ["" if end is None else cell(end) for end in (low, high)]
        bounds = "..".join(ends) if any(ends) else "-"
        bounds += " sign" if row.get("sign") else ""
        missed = MISSED.get(str(row.get("missed")), "does not hold")
        word, kind = ("holds", "holds") if row.get("holds") else (missed, "fails")
        if row.get("not_judged"):
            word, kind = "not judged", "none"
        elif bounds == "-" and kind == "holds":
            word, kind = "reported", "none"
        cells = [cell(row.get("paper")), of_baseline(row), cell(row.get("ours"))]
        cells += [bounds, html.escape(str(row.get("unit", "")))]
        inside = "".join(f"<td>{each}</td>" for each in cells)
        name = html.escape(str(row.get("name", "")))
        lines.append(f'<tr><td>{name}</td>{inside}<td class="{kind}">{word}</td></tr>')
    names = ("finding", "paper", "reference", "ours", "accepted range", "unit", "verdict")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def counted_by_layer(links: polars.DataFrame, names: Sequence[str]) -> str:
    """The counters of the ports of each layer, as a table."""
    sums = links.group_by("layer", maintain_order=True).agg(polars.col(*names).sum())
    rows = ([layer, *(f"{value:,}" for value in values)] for layer, *values in sums.iter_rows())
    return table(("layer", *names), rows)


def apart(run: Result) -> str:
    """The parts of the completion time of a traced flow, if it has one."""
    path = run.folder / "fct_components.csv"
    if not path.is_file():
        return ""
    parts = polars.read_csv(path, schema_overrides={"time_ps": polars.Int64})
    whole = max(int(parts["time_ps"].sum()), 1)
    rows = (
        (name, f"{ps / 1e6:.3f}", f"{100 * ps / whole:.1f}")
        for name, ps in [*parts.iter_rows(), ("completion time", whole)]
    )
    return table(("", "µs", "%"), rows)


def lossy(run: Result) -> str:
    """Links that did not bring packets, those with the most first, by cause."""
    if not (run.folder / "links.csv").is_file():
        return ""
    columns = ("name", "failed", "lost", "corrupted")
    links = run.links.with_columns(all=polars.sum_horizontal(*columns[1:]))
    found = links.filter(polars.col("all") > 0).sort("all", descending=True, maintain_order=True)
    if not len(found):
        return ""
    more = len(found) - MAX_LINKS
    note = f'<p class="note">and {more} more links</p>' if more > 0 else ""
    rows = found.select(columns).head(MAX_LINKS).iter_rows()
    return table(("link", *columns[1:]), rows) + note


def cell(value: object) -> str:
    """A number in a table."""
    return f"{value:.6g}" if isinstance(value, int | float) else "-"


def asset(name: str) -> str:
    """A file that goes into every report."""
    folder = resources.files("trimline").joinpath("assets")
    return folder.joinpath(name).read_text(encoding="utf-8").replace("</script", "<\\/script")


def main(arguments: Sequence[str]) -> int:
    """Entry point of `trimline report`: OUT DIR..., with --include-stopped in front."""
    include_stopped = arguments[0] == "--include-stopped"
    out, *folders = arguments[1:] if include_stopped else arguments
    try:
        print(report(list(folders), out, include_stopped=include_stopped))
    except (MalformedResult, OSError) as error:
        print(f"trimline report: {error}", file=sys.stderr)
        return 1
    return 0
