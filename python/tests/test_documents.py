"""The documents are right: their blocks run, their commands and make targets are there."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import types
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import jsonschema

import trimline
from tests import skip

ROOT = Path(__file__).resolve().parents[2]
#: `make first-hour` runs these, and compares what they print.
RUN = ("first-hour.md", "errors.md")
ALL = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = (ROOT / "README.md", *(path for path in ALL if path.name not in RUN))

#: First words of a line in a shell.
SHELL = ("make", "trimline", "trimline-switch", "cargo", "cd", "scripts/compare_simulators.py")

#: Blocks that are neither Python, TOML nor commands, by their first line.
OTHERS = {
    "scripts/dist.sh x86_64-unknown-linux-musl",
    "$ trimline run examples/four-switches.toml          # 0.1 s",
    "pip install trimline-0.2.0-cp311-abi3-manylinux_2_28_x86_64.whl",
    "tar xf trimline-0.2.0-x86_64-unknown-linux-musl.tar.gz",
    "python3 -m venv trimline-env",
    # Text of a list, indented.
    "Use these: `shell` (slots, control queue, timers, events; an endpoint that implements "
    "`ShellEndpoint` on it is an",
    "| method | used by |",
    'let mut host = Host::open("eth0", address, BitRate::from_gbps(10), |_| {})?;',
    "## subject of the change",
    "time, us    host 0 (sender)            switch               host 2 (receiver)",
    "ip route add unreachable 10.1.0.1/32      # the path by 10.1.0.1 is not used",
}

#: Words that stand for something of the reader's, and what they are here.
MEANT = {
    "SCENARIO.toml": "scenario.toml",
    "SCENARIO": "scenario.toml",
    "FLOWS.cm": "flows.cm",
    "X.topo": "x.topo",
    "DIR...": "out",
    "N": "0",
    "NAME": "paced",
    "a,b": "ndp,dctcp",
}

SMALL = """
name = "seeds"
seeds = "1..2"
topology.leafspine = { leaves = 2, spines = 2, hosts_per_leaf = 2 }

[[workload]]
name = "w"
permutation = {}
size = "9KB"
"""


def is_drawing(block: str) -> bool:
    """Returns whether two lines or more have the strokes of a drawing."""
    strokes = ("|", "+--", "-->", "<--")
    return sum(any(stroke in line for stroke in strokes) for line in block.splitlines()) > 1


def blocks(path: Path) -> Iterator[str]:
    """The indented blocks of a document, without the blocks of lists."""
    lines = path.read_text(encoding="utf-8").splitlines()
    block: list[str] = []
    is_block = False
    for before, line in zip(["", *lines], [*lines, "end"], strict=False):
        begins = line.startswith("    ") and not before.strip()
        is_block = (line.startswith("    ") and (begins or is_block)) or (is_block and not line)
        if is_block:
            block.append(line[4:])
        elif block:
            yield "\n".join(block).strip("\n")
            block = []


def is_python(block: str) -> bool:
    """True if a block is a script."""
    with contextlib.suppress(SyntaxError):
        tree = ast.parse(block)
        return any(
            isinstance(each, ast.Import | ast.ImportFrom | ast.Call) for each in ast.walk(tree)
        )
    return False


def is_toml(block: str) -> bool:
    """True if a block is a scenario."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        return bool(tomllib.loads(block))
    return False


def commands(block: str) -> list[list[str]]:
    """The words of each line of a shell block; comments left out."""
    return [line.split("#")[0].split() for line in block.splitlines() if line.strip()]


def is_shell(block: str) -> bool:
    """True if every line of a block begins with a command."""
    return all(words and words[0] in SHELL for words in commands(block))


class Cluster:
    """A cluster of Slurm or Kubernetes, played by one on this machine."""

    started: ClassVar[list[Cluster]] = []

    def __init__(self, **about: object) -> None:
        """Starts it, whatever it is asked for."""
        dask: Any = importlib.import_module("dask.distributed")
        self.local = dask.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        )
        self.scheduler_address = self.local.scheduler_address
        Cluster.started.append(self)

    def scale(self, count: int = 0, *, jobs: int = 0) -> None:
        """More workers than this machine has are not asked for."""
        assert count or jobs


class Blocks(unittest.TestCase):
    """Indented blocks of README.md and docs."""

    def setUp(self) -> None:
        """A fresh folder with the examples and the scenario that the documents speak of."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        (self.folder / "seeds.toml").write_text(SMALL, encoding="utf-8")

    def of(self, kind: Any) -> list[tuple[Path, str]]:
        """The blocks of a kind, each with its document."""
        return [(path, block) for path in DOCUMENTS for block in blocks(path) if kind(block)]

    def test_every_code_block_has_a_checked_kind(self) -> None:
        """No block is left out because its kind is unknown."""
        kinds = (is_shell, is_toml, is_python)
        for path in DOCUMENTS:
            for block in blocks(path):
                known = any(kind(block) for kind in kinds)
                drawn = path.parent.name == "internals" and is_drawing(block)
                other = block.splitlines()[0] in OTHERS
                # `make first-hour` runs these documents as a whole.
                is_run = block.startswith("$ ") and (
                    path.name == "start.md" or path.parent.name == "tutorials"
                )
                self.assertTrue(known or drawn or other or is_run, f"{path}:\n{block}")

    def test_scenarios_of_documents_run(self) -> None:
        """Each TOML block, one run of it, for a short time."""

        def is_scenario(block: str) -> bool:
            # A part of a configuration of trimline-switch is none.
            return not is_shell(block) and is_toml(block) and not block.startswith("[[switch]]")

        found = self.of(is_scenario)
        self.assertGreater(len(found), 1)
        for number, (path, block) in enumerate(found):
            # A scheme says what a scenario without it does not.
            rest = "" if "topology" in tomllib.loads(block) else SMALL
            scenario = trimline.Scenario.of(block + "\n" + rest)
            short = {"duration": "50us", "warm_up": "0us", "seeds": 1}
            with self.subTest(path=path.name):
                self.assertGreater(len(scenario.runs), 0)
                results = trimline.run(
                    scenario, self.folder / f"block-{number}", settings=short, progress=False
                )
                self.assertGreater(len(results.flows), 0)

    def test_scripts_of_documents_run(self) -> None:
        """Runs each Python block in a fresh folder; the wheel's test runs its own block there."""
        if importlib.util.find_spec("dask.distributed") is None:
            skip(self, "no dask")
        # Before modules are played: what is imported then is forgotten.
        importlib.import_module("dask.distributed")
        found = self.of(lambda block: not is_shell(block) and is_python(block))
        self.assertGreater(len(found), 3)
        wheel = (ROOT / "scripts/wheel_test.sh").read_text(encoding="utf-8")
        played = {
            "dask_jobqueue": types.SimpleNamespace(SLURMCluster=Cluster),
            "dask_kubernetes": types.SimpleNamespace(),
            "dask_kubernetes.operator": types.SimpleNamespace(KubeCluster=Cluster),
        }
        for path, block in found:
            with self.subTest(path=path.name, block=block.splitlines()[0]):
                if block in wheel:
                    # `make wheel-test` runs it.
                    continue
                with (
                    contextlib.chdir(self.folder),
                    contextlib.redirect_stdout(io.StringIO()),
                    mock.patch.dict(sys.modules, played),
                ):
                    exec(compile(block, str(path), "exec"), {"trimline": trimline})
        self.assertEqual(len(Cluster.started), 2)
        for cluster in Cluster.started:
            cluster.local.close()

    def test_commands_of_documents_exist(self) -> None:
        """Every command line of a block and of the README's table is understood; targets exist."""
        lines = [words for _, block in self.of(is_shell) for words in commands(block)]
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        lines += [row.split() for row in re.findall(r"^\| `(trimline [^`]*)`", readme, re.M)]
        rules = re.findall(r"^([a-z0-9 -]+):", (ROOT / "Makefile").read_text(), re.M)
        targets = {target for rule in rules for target in rule.split()}
        pages = (*DOCUMENTS, *(ROOT / "experiments").rglob("README.md"))
        text = "".join(path.read_text(encoding="utf-8") for path in pages)
        lines += [["make", target] for target in re.findall(r"`make ([a-z0-9-]+)", text)]
        understood = 0
        for words in lines:
            if words[0] == "make":
                self.assertIn(words[1], targets, f"make {words[1]}")
            if words[0] == "trimline":
                self.understands(words[1:])
                understood += 1
        self.assertGreater(understood, 20)

    def understands(self, words: list[str]) -> None:
        """A command whose verb and options exist answers `--help` behind them."""
        words = [MEANT.get(word.strip("[]"), word.strip("[]")) for word in words]
        # What the shell does with its output is not the command's.
        words = words[: next((n for n, word in enumerate(words) if word in "<>|"), len(words))]
        asked = subprocess.run(
            [sys.executable, "-m", "trimline", *words, "--help"],
            cwd=ROOT / "python",
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(asked.returncode, 0, f"trimline {' '.join(words)}: {asked.stderr}")


class Scenarios(unittest.TestCase):
    """The scenario files of the repository, as an editor reads them."""

    def test_the_first_line_names_the_schema_and_the_schema_accepts_the_file(self) -> None:
        """Examples and experiments. A misspelt key is refused."""
        schema = json.loads((ROOT / "schema/scenario.schema.json").read_text(encoding="utf-8"))
        validator = jsonschema.Draft202012Validator(schema)
        found = [*ROOT.glob("examples/*.toml"), *ROOT.glob("experiments/*/*/scenario.toml")]
        found += ROOT.glob("experiments/*/*/simulated.toml")
        self.assertGreater(len(found), 90)
        for path in found:
            # A configuration of trimline-switch is no scenario.
            if path.name == "switch.toml":
                continue
            with self.subTest(path=str(path.relative_to(ROOT))):
                text = path.read_text(encoding="utf-8")
                first = text.partition("\n")[0].removeprefix("#:schema ")
                named = (path.parent / first).resolve()
                self.assertEqual(named, ROOT / "schema/scenario.schema.json")
                scenario = tomllib.loads(text)
                self.assertIsNone(next(validator.iter_errors(scenario), None))
                self.assertFalse(validator.is_valid({**scenario, "duraton": "1ms"}))
        # What is missing is missing, unless series may have it.
        flows = {"name": "w", "permutation": {}, "size": "9KB"}
        whole = {"topology": {"star": {"hosts": 4}}, "workload": [flows]}
        series = [{"name": "s", "topology": whole["topology"]}]
        self.assertTrue(validator.is_valid(whole))
        self.assertFalse(validator.is_valid({"workload": [flows]}))
        self.assertTrue(validator.is_valid({"workload": [flows], "series": series}))


class Notebooks(unittest.TestCase):
    """The notebooks of the documentation; `make notebooks` runs them."""

    def test_notebooks_are_stored_without_output_and_are_on_the_site(self) -> None:
        """A diff shows what somebody wrote; links lead somewhere."""
        found = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
        self.assertGreaterEqual(len(found), 3)
        site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        for path in found:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            for cell in cells:
                with self.subTest(path=path.name, cell=cell["id"]):
                    self.assertFalse(cell.get("outputs"))
                    self.assertIsNone(cell.get("execution_count"))
                    for link in re.findall(r"\]\((?!http)([^)#]+)", "".join(cell["source"])):
                        self.assertTrue((path.parent / link).is_file(), link)
            self.assertIn(f"docs/notebooks/{path.stem}.md", site)


if __name__ == "__main__":
    unittest.main()
