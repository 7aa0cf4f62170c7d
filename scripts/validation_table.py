#!/usr/bin/env python3
"""Writes the measured tables of the experiments' READMEs, and their index in docs/validation.md.

    target/release/trimline reproduce all --json > out/verdict.json
    python3 scripts/validation_table.py out/verdict.json
    python3 scripts/validation_table.py --index     # the index alone, from the tables in the READMEs
    python3 scripts/validation_table.py --check     # fails if the index is out of date

The table of experiment ID stands in experiments/ID/README.md between `<!-- measured: ID -->` and `<!-- end -->`, with
the commit that made it. The script changes nothing else there. With the results of some series (`--series`) it replaces
the rows that were judged and keeps the others; a table without rows gets all. The script names an experiment without a
place for its table, and findings that do not hold. The README explains those below the table. It lists misses of
unknown cause between `<!-- unknown -->` and `<!-- end -->`.

The index has two tables: between `<!-- counted -->` and `<!-- end -->` the number of findings that hold in each paper,
signs apart, and between `<!-- experiments -->` and `<!-- end -->` a row for each experiment. Only the standard library.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

COLUMNS = ("finding", "paper", "reference", "ours", "range", "unit", "verdict")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"


def number(value: float | None) -> str:
    """Up to four decimals; a dash for what is not there."""
    return "-" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def bounds(finding: dict) -> str:
    """The accepted range, open at a side that has no bound; `sign` where it asks for no more than that."""
    lo, hi = finding.get("lo"), finding.get("hi")
    if lo is None and hi is None:
        return "-"
    ends = f"{'' if lo is None else number(lo)}..{'' if hi is None else number(hi)}"
    return f"{ends} {SIGN}" if finding.get("sign") else ends


#: Marks a comparison whose only bound is 0.
SIGN = "sign"

#: Of a finding that is missed, what is known: what the authors' program gives, or a cause.
MISSED = {
    "as-baseline": "**misses the paper, as the baseline does**",
    "both": "**misses both**",
    "no-program": "**misses the paper; no program**",
    "cause-known": "**does not hold; cause known**",
}

#: Of a finding that is missed without a known cause.
DOES_NOT_HOLD = "**does not hold**"


def baseline(finding: dict) -> str:
    """The numbers of the authors' files, or of their program: a number, or two ends."""
    measured = finding.get("baseline")
    if measured is None:
        return number(finding.get("reference"))
    ends = [number(measured[key]) for key in ("from", "to")]
    return ends[0] if ends[0] == ends[1] else "..".join(ends)


#: In place of a verdict.
NOT_RUN = "not run"


def standing(table: str) -> dict[str, str]:
    """The rows of a table by the names of their findings."""
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    return {row.split(" | ")[0].removeprefix("| "): row + "\n" for row in rows[1:]}


def verdict(finding: dict) -> str:
    """The verdict on a finding, as its row has it."""
    if finding.get("not_judged"):
        return NOT_RUN
    if not finding["holds"]:
        return MISSED.get(finding.get("missed", ""), DOES_NOT_HOLD)
    return "reported" if finding.get("lo") is None and finding.get("hi") is None else "holds"


def row(finding: dict) -> str:
    """The row of one finding."""
    cells = [
        finding["name"],
        number(finding.get("paper")),
        baseline(finding),
        number(finding.get("ours")),
        bounds(finding),
        finding.get("unit", ""),
        verdict(finding),
    ]
    return f"| {' | '.join(cells)} |\n"


def table(findings: list[dict], before: dict[str, str], commit: str) -> str:
    """The table of one experiment; `before`: rows for findings that are not judged."""
    stays = (before.get(one["name"]) if one.get("not_judged") else None for one in findings)
    rows = "".join(old or row(one) for old, one in zip(stays, findings, strict=True))
    return f"{HEAD}{rows}\n*Commit {commit}.*\n"


def this_commit() -> str:
    """The commit of the working tree."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def marked(kind: str) -> re.Pattern[str]:
    """The text between a mark of this kind and the next `<!-- end -->`, as the second group."""
    return re.compile(rf"(<!-- {kind} -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rewritten(text: str, experiment: dict, commit: str) -> str | None:
    """A README with the table of its experiment replaced; None if it has no place for one."""
    match = marked(f"measured: {re.escape(experiment['id'])}").search(text)
    if match is None:
        return None
    before = standing(match[2]) if experiment.get("tier") == "part" else {}
    made = table(experiment["findings"], before, commit)
    return text[: match.start(2)] + made + text[match.end(2) :]


class Results:
    """The measured table of one experiment, as its README has it."""

    #: A verdict of a miss, and the column of the index that counts it.
    CAUSES = dict.fromkeys(MISSED.values(), "argued") | {
        MISSED["as-baseline"]: "proved",
        DOES_NOT_HOLD: "unknown",
    }

    def __init__(self, identifier: str, title: str, text: str) -> None:
        """Reads the README of the experiment.

        Raises ValueError for a verdict that the script does not write, and for an unknown cause of a finding that is
        no miss.
        """
        self.identifier = identifier
        self.title = title
        match = marked(f"measured: {re.escape(identifier)}").search(text)
        self.has_table = match is not None
        #: By finding: range and verdict.
        self.rows: dict[str, tuple[str, str]] = {}
        for name, line in standing(match[2] if match else "").items():
            *_, limits, _, word, _ = (cell.strip() for cell in line.strip().split("|"))
            if word not in ("holds", "reported", NOT_RUN, *self.CAUSES):
                raise ValueError(f"{identifier}: {name}: no such verdict: {word}")
            self.rows[name] = limits, word
        self.unknown = [
            line.removeprefix("- ")
            for part in marked("unknown").finditer(text)
            for line in part[2].splitlines()
        ]
        for name in self.unknown:
            if self.rows.get(name, ("", ""))[1] not in self.CAUSES:
                raise ValueError(f"{identifier}: {name}: its cause is unknown, and it is no miss")

    def judged(self) -> dict[str, tuple[str, str]]:
        """The rows that have a range and were run."""
        rows = self.rows.items()
        return {name: row for name, row in rows if row[0] != "-" and row[1] != NOT_RUN}

    def counts(self) -> list[int]:
        """Findings that hold, judged and reported ones, misses, and the misses by cause."""
        words = [word for _, word in self.judged().values()]
        causes = [
            "unknown" if name in self.unknown else self.CAUSES[word]
            for name, (_, word) in self.judged().items()
            if word in self.CAUSES
        ]
        reported = sum(limits == "-" and word != NOT_RUN for limits, word in self.rows.values())
        by_cause = [causes.count(cause) for cause in ("proved", "argued", "unknown")]
        return [words.count("holds"), len(words), reported, len(causes), *by_cause]


def natural(identifier: str) -> list[list[tuple[int, str]]]:
    """A key that sorts by paper, then by figure, with numbers by their value."""
    return [
        [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
        for name in identifier.split("/")
    ]


def results(root: Path) -> list[Results]:
    """The results of all experiments, in the order of the index."""
    found = []
    for expected in (root / "experiments").glob("*/*/expected.toml"):
        folder = expected.parent
        title = tomllib.loads(expected.read_text(encoding="utf-8"))["title"]
        text = (folder / "README.md").read_text(encoding="utf-8")
        found.append(Results(f"{folder.parent.name}/{folder.name}", title, text))
    return sorted(found, key=lambda one: natural(one.identifier))


#: Findings with a range, and how many hold; findings with a sign alone, and how many hold.
COUNTS = ("paper", "ranges", "hold", "signs", "hold")


def counted(of_all: list[Results]) -> str:
    """The table of counts by paper."""
    counts: dict[str, list[int]] = {}
    for one in of_all:
        for limits, word in one.judged().values():
            first = 2 if limits.endswith(SIGN) else 0
            for key in (one.identifier.split("/")[0], "**all**"):
                count = counts.setdefault(key, [0, 0, 0, 0])
                count[first] += 1
                count[first + 1] += word == "holds"
    rows = sorted(counts.items(), key=lambda item: (item[0].startswith("*"), item[0]))
    head = f"| {' | '.join(COUNTS)} |\n|{'---|' * len(COUNTS)}\n"
    return head + "".join(f"| {key} | {' | '.join(map(str, row))} |\n" for key, row in rows)


#: Columns of the index.
INDEX = ("experiment", "claim", "holds", "reported", "misses", "proved", "argued", "unknown")


def experiments_table(of_all: list[Results]) -> str:
    """The table with a row for each experiment, and a last one with the sums."""
    rows = []
    for one in of_all:
        link = f"[{one.identifier}](../experiments/{one.identifier}/README.md)"
        rows.append((link, one.title, one.counts() if one.has_table else None))
    sums = [sum(column) for column in zip(*(counts for *_, counts in rows if counts), strict=True)]
    rows.append(("**all**", "", sums))
    lines = [f"| {' | '.join(INDEX)} |\n|{'---|' * len(INDEX)}\n"]
    for link, title, counts in rows:
        if counts is None:
            cells = ["-"] * (len(INDEX) - 2)
        else:
            holds, judged, *rest = counts
            cells = [f"{holds} of {judged}" if judged else "-", *(str(count) for count in rest)]
        lines.append(f"| {link} | {title} | {' | '.join(cells)} |\n")
    return "".join(lines)


def indexed(text: str, of_all: list[Results]) -> str:
    """The index with its two tables made anew."""
    for kind, made in (("counted", counted(of_all)), ("experiments", experiments_table(of_all))):
        match = marked(kind).search(text)
        if match is None:
            raise ValueError(f"no `<!-- {kind} -->`")
        text = text[: match.start(2)] + made + text[match.end(2) :]
    return text


def asks_for_baseline(finding: dict) -> bool:
    """True if a finding misses the paper, and expected.toml gives neither the authors' result nor a cause."""
    return finding.get("paper") is not None and finding.get("missed") is None


def write_tables(root: Path, verdict: Path) -> bool:
    """Writes the tables of the experiments that were judged. False if one has no place for its table."""
    experiments = json.loads(verdict.read_text(encoding="utf-8"))["experiments"]
    if any(experiment.get("tier") == "quick" for experiment in experiments):
        raise ValueError(f"{verdict}: of the quick tier; the tables are of all runs")
    commit = this_commit()
    is_complete = True
    for experiment in experiments:
        page = root / "experiments" / experiment["id"] / "README.md"
        text = rewritten(page.read_text(encoding="utf-8"), experiment, commit)
        if text is None:
            print(f"{page}: no `<!-- measured: {experiment['id']} -->`", file=sys.stderr)
            is_complete = False
            continue
        page.write_text(text, encoding="utf-8")
        for finding in experiment["findings"]:
            name = f"{experiment['id']}: {finding['name']}"
            if not finding["holds"]:
                print(f"{name} does not hold: say why in {page}")
                if asks_for_baseline(finding):
                    print(f"{name}: write `baseline` or `cause` into expected.toml")
    return is_complete


def main(arguments: list[str], root: Path = ROOT) -> int:
    """0 if all is written or up to date, 1 if a table has no place or the index is out of date, 2 on misuse."""
    if len(arguments) != 1 or (
        arguments[0].startswith("-") and arguments[0] not in ("--index", "--check")
    ):
        print("usage: validation_table.py VERDICT.json | --index | --check", file=sys.stderr)
        return 2
    page = root / "docs" / "validation.md"
    try:
        is_complete = arguments[0].startswith("-") or write_tables(root, Path(arguments[0]))
        before = page.read_text(encoding="utf-8")
        after = indexed(before, results(root))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments[0] == "--check":
        if before != after:
            print(
                f"{page}: out of date: python3 scripts/validation_table.py --index", file=sys.stderr
            )
        return int(before != after)
    page.write_text(after, encoding="utf-8")
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
