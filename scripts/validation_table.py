#!/usr/bin/env python3
"""Writes the measured tables of docs/validation.md from what `trimline reproduce --json` prints.

    target/release/trimline reproduce all --json > out/verdict.json
    python3 scripts/validation_table.py out/verdict.json docs/validation.md

Between `<!-- measured: ID -->` and `<!-- end -->` stands the table of experiment ID with the commit that made it, and
nothing else is touched. With some series (`--series`) the judged rows take the place of the rows with
the same findings, and the others stay; a table that has none yet gets them all. An experiment
without a place in the file, or with findings that do not hold, is named; what does not hold belongs
into the text below the table with its cause. Between `<!-- counted -->` and `<!-- end -->` stands how
many findings of all tables hold, those that ask for a sign alone apart. Only the standard library.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

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
    "as-baseline": "**misses the paper, as theirs does**",
    "both": "**misses both**",
    "no-program": "**misses the paper; no program**",
    "cause-known": "**does not hold; cause known**",
}


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
        return MISSED.get(finding.get("missed", ""), "**does not hold**")
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


def rewritten(text: str, experiments: list[dict], commit: str) -> tuple[str, list[str]]:
    """The text with its tables replaced, and the experiments that have no place in it."""
    homeless = []
    for experiment in experiments:
        place = re.compile(
            rf"(<!-- measured: {re.escape(experiment['id'])} -->\n)(.*?)(<!-- end -->)", re.DOTALL
        )
        match = place.search(text)
        if match is None:
            homeless.append(experiment["id"])
            continue
        before = standing(match[2]) if experiment.get("tier") == "part" else {}
        made = table(experiment["findings"], before, commit)
        text = text[: match.start(2)] + made + text[match.end(2) :]
    return text, homeless


#: Findings with a range, and how many hold; findings with a sign alone, and how many hold.
COUNTS = ("paper", "ranges", "hold", "signs", "hold")


def counted(text: str) -> str:
    """The text with the table of counts, between `<!-- counted -->` and `<!-- end -->`, made from its other tables."""
    place = re.compile(r"(<!-- counted -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    match = place.search(text)
    if match is None:
        return text
    counts: dict[str, list[int]] = {}
    tables = re.findall(r"<!-- measured: (\w[\w-]*)/[^ ]* -->\n(.*?)<!-- end -->", text, re.DOTALL)
    for paper, measured in tables:
        for line in standing(measured).values():
            *_, limits, _, word, _ = line.strip().split("|")
            if word.strip() in ("reported", NOT_RUN) or limits.strip() == "-":
                continue
            first = 2 if limits.strip().endswith(SIGN) else 0
            for key in (paper, "**all**"):
                count = counts.setdefault(key, [0, 0, 0, 0])
                count[first] += 1
                count[first + 1] += word.strip() == "holds"
    rows = sorted(counts.items(), key=lambda item: (item[0].startswith("*"), item[0]))
    head = f"| {' | '.join(COUNTS)} |\n|{'---|' * len(COUNTS)}\n"
    made = head + "".join(f"| {key} | {' | '.join(map(str, row))} |\n" for key, row in rows)
    return text[: match.start(2)] + made + text[match.end(2) :]


def asks_for_baseline(finding: dict) -> bool:
    """True if a finding misses the paper, and expected.toml gives neither the authors' result nor a cause."""
    return finding.get("paper") is not None and finding.get("missed") is None


def main(arguments: list[str]) -> int:
    """0 when every experiment found its place, 1 when one did not, 2 on misuse."""
    if len(arguments) != 2:
        print("usage: validation_table.py VERDICT.json docs/validation.md", file=sys.stderr)
        return 2
    verdict, page = Path(arguments[0]), Path(arguments[1])
    experiments = json.loads(verdict.read_text(encoding="utf-8"))["experiments"]
    if any(experiment.get("tier") == "quick" for experiment in experiments):
        print(f"{verdict}: of the quick tier; the tables are of all runs", file=sys.stderr)
        return 2
    text, homeless = rewritten(page.read_text(encoding="utf-8"), experiments, this_commit())
    page.write_text(counted(text), encoding="utf-8")
    for experiment in experiments:
        for finding in experiment["findings"]:
            name = f"{experiment['id']}: {finding['name']}"
            if not finding["holds"]:
                print(f"{name} does not hold: say why in {page}")
                if asks_for_baseline(finding):
                    print(f"{name}: write `baseline` or `cause` into expected.toml")
    for identifier in homeless:
        print(f"{page}: no `<!-- measured: {identifier} -->`", file=sys.stderr)
    return 1 if homeless else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
