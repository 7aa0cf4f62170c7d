"""`trimline.reproduce`: experiments, and the findings of their papers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimline.results import Results


@dataclass(frozen=True)
class Reproduction:
    """One experiment: its findings, its runs, its figure."""

    identifier: str
    findings: tuple[dict[str, Any], ...]
    results: Results
    figures: tuple[Path, ...]

    @property
    def holds(self) -> bool:
        """True if every finding lies in its range."""
        return all(finding["holds"] for finding in self.findings)


def reproduce(
    identifier: str,
    out: str | Path = "out",
    *,
    seeds: int | str | Sequence[int] | None = None,
    settings: Sequence[str] = (),
    quick: bool = False,
    series: Sequence[str] = (),
    resume: bool = False,
    plot: bool = True,
) -> Reproduction:
    """Runs an experiment, such as `ndp/fig14`, judges it and draws it.

    Gives the verdict and the files of `trimline reproduce`. `quick` does only some of the runs.
    `series` does the runs of these series alone: the results of the other series stay and are
    judged as well.
    """
    if "/" not in identifier:
        raise ValueError(f"{identifier!r} is no experiment, such as 'ndp/fig14'")
    words = ["reproduce", identifier, "--out", str(out), "--no-plot"]
    for setting in settings:
        words += ["--set", setting]
    if seeds is not None:
        words += ["--seeds", seeds_text(seeds)]
    words += ["--quick"] * quick
    if series:
        words += ["--series", ",".join(series)]
    words += ["--resume"] * resume
    status = told(words)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status not in (0, 1):
        raise RuntimeError(f"trimline reproduce {identifier} ended with status {status}")
    folder = Path(out) / identifier
    verdict = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    figures = drawn(identifier, folder) if plot else ()
    return Reproduction(identifier, tuple(verdict["findings"]), Results.read(folder), figures)


#: Exit status of a command that Ctrl-C stopped.
INTERRUPTED = 130


def told(words: Sequence[str]) -> int:
    """Runs the command and prints what it says; gives its exit status.

    In a process of its own: the command catches Ctrl-C for good, and that is Python's here.
    """
    call = [sys.executable, "-m", "trimline", *words]
    with subprocess.Popen(call, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line, end="")
        except KeyboardInterrupt:
            # On a terminal the command got the signal too; elsewhere it is sent here. The command
            # stops with the results that there are.
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
            process.wait()
            raise
        return process.wait()


def seeds_text(seeds: int | str | Sequence[int]) -> str:
    """Seeds as the command line takes them."""
    if isinstance(seeds, int | str):
        return str(seeds)
    return ",".join(str(seed) for seed in seeds)


def drawn(identifier: str, folder: Path) -> tuple[Path, ...]:
    """The figure as PNG and PDF."""
    from trimline.plot.experiment import Experiment  # noqa: PLC0415
    from trimline.plot.figures import draw  # noqa: PLC0415

    return tuple(draw(Experiment.read(folder, identifier), folder))
