#!/usr/bin/env python3
"""Runs the commands of documents and compares their output with the text.

usage: run_document.py [--bless] [--program FOLDER] [--installed] DOCUMENT...

A command is an indented line that begins with `$ `; the indented lines below it are its output, both streams together,
and `exit N` behind it where its status is not 0. `...` stands for any lines. A document's commands run one after the
other in one shell, in an empty folder with a copy of `examples/`. A fenced block with `title="NAME"` is written to the
file NAME there. The times of `cargo test` are not compared. `--bless` writes the output into the document where it
differs. FOLDER has the program `trimline` (default: target/debug); with `--installed` it also has the `python` in which
the package is installed, and nothing else of the repository is used.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDENT = "    "
FILE = re.compile(r'```.* title="([^"]+)"')
CLOCK = re.compile(r"(?<=finished in )[\d.]+s")


class Shell:
    """One shell for all commands of a document."""

    def __init__(self, folder, program, installed):
        clone = {
            "PATH": f"{program}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "python"),
            "TRIMLINE_PYTHON": str(ROOT / ".venv/bin/python"),
        }
        environment = os.environ | ({"PATH": f"{program}:{os.environ['PATH']}"} if installed else clone) | {
            # A crate of the reader's own takes what the workspace has built and downloaded.
            "CARGO_TARGET_DIR": str(ROOT / "target"),
            "CARGO_NET_OFFLINE": "true",
            # Random networks of such a crate: a user's hundred are half of the time.
            "TRIMLINE_SEEDS": "20",
            "COLUMNS": "80",
        }
        self.process = subprocess.Popen(
            ["bash"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def run(self, command):
        """The lines that a command prints, with its status if that is not 0."""
        mark = "--- done"
        self.process.stdin.write(f"{command}\nprintf '\\n{mark} %d\\n' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(mark):
                status = int(line[len(mark):])
                # Blank lines at the end are the document's.
                while lines and lines[-1] == "":
                    lines.pop()
                return lines + ([f"exit {status}"] if status else [])
            lines.append(line.rstrip())
        sys.exit(f"error: `{command}` ended the shell: {lines[-3:]}")


def matches(said, expected):
    """Returns whether lines are those expected; `...` stands for any number of lines."""
    if not expected:
        return not said
    if expected[0] == "...":
        return any(matches(said[skipped:], expected[1:]) for skipped in range(len(said) + 1))
    return bool(said) and said[0] == expected[0] and matches(said[1:], expected[1:])


def plain(lines):
    """Lines without times of a clock."""
    return [CLOCK.sub("#", line) for line in lines]


def check(path, program, bless, installed):
    """The number of commands of a document, and of those that print something else."""
    lines = path.read_text(encoding="utf-8").split("\n")
    made, place, count, wrong = [], 0, 0, 0
    # A folder that is the same each time, so cargo compiles a crate in it once.
    folder = ROOT / "out/documents" / path.stem
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    with Shell(folder, program, installed) as shell:
        while place < len(lines):
            line = lines[place]
            made.append(line)
            place += 1
            if title := FILE.match(line):
                end = lines.index("```", place)
                (folder / title[1]).write_text("\n".join(lines[place:end]) + "\n", encoding="utf-8")
            if not line.startswith(f"{INDENT}$ "):
                continue
            count += 1
            end = place
            # Blank lines belong to the output where more of it follows.
            while end < len(lines) and not lines[end].startswith(f"{INDENT}$ "):
                if lines[end] and not lines[end].startswith(INDENT):
                    break
                end += 1
            while end > place and not lines[end - 1]:
                end -= 1
            expected = [line.removeprefix(INDENT) for line in lines[place:end]]
            said = shell.run(line.removeprefix(f"{INDENT}$ "))
            if not matches(plain(said), plain(expected)):
                wrong += 1
                print(f"{path}:{len(made)}: `{line.strip()[2:]}` prints")
                print("\n".join(f"{INDENT}{line}" for line in said))
                expected = said
            made.extend(f"{INDENT}{line}".rstrip() for line in expected)
            place = end
    if bless and wrong:
        path.write_text("\n".join(made), encoding="utf-8")
    return count, wrong


def main():
    """0 if every command prints what its document says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--program", type=Path, default=ROOT / "target/debug")
    parser.add_argument("--bless", action="store_true", help="write what commands print into the documents")
    parser.add_argument("--installed", action="store_true", help="use the Python package of FOLDER alone")
    given = parser.parse_args()
    status = 0
    for path in given.documents:
        count, wrong = check(path, given.program.resolve(), given.bless, given.installed)
        print(f"{path}: {count} commands, {wrong} print something else")
        status |= wrong > 0 and not given.bless
    return status


if __name__ == "__main__":
    sys.exit(main())
