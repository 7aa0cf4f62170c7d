#!/usr/bin/env python3
"""Builds the documentation site: `make site` runs it with the packages of docs/requirements.txt.

usage: site.py PROGRAM

The site has the repository's own layout: its documents stand in out/site-src under the same names,
so a link that works in the repository works on the site. Generated pages stand beside them:
commands (from the help of PROGRAM), the Python API, Rust crates, the notebooks that `make notebooks`
ran, and the gallery (from the experiments' READMEs; with their pictures, if docs/figures or out/ has
them). mkdocs.yml orders the pages. The site goes to out/site/VERSION, with `latest` beside it and a
list of versions. It loads nothing from another host; a page that does is an error.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "out/site-src"
SITE = ROOT / "out/site"
PAPERS = {
    "ndp": "NDP",
    "ndp-evaluation": "TR-933",
    "hull": "HULL",
    "fastlane": "FastLane",
    "opf": "OPF",
    "homa": "Homa and Aeolus",
    "pfabric": "pFabric",
    "phost": "pHost",
    "uet": "Ultra Ethernet",
    "hpcc": "HPCC",
    "beyond": "Beyond the papers",
}
#: A table with more rows is folded.
FOLDED = 12


def output(*command):
    """The standard output of a command in the repository."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def write(name, text):
    """Writes a generated page."""
    path = SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def documents():
    """Copies Markdown files, pictures, styles and notebooks."""
    wanted = ("*.md", "docs/*.png", "docs/*.svg", "docs/*.css", "docs/*.ipynb")
    names = output(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", *wanted
    ).splitlines()
    for name in names:
        path = ROOT / name
        if not path.exists() or name.startswith(".github/"):
            continue
        if re.fullmatch(r"docs/.*\.md", name):
            # The search shows documents before the experiments' READMEs.
            write(name, "---\nsearch: { boost: 100 }\n---\n" + path.read_text(encoding="utf-8"))
        else:
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, SOURCE / name)


def notebooks():
    """Puts the page of each notebook, which `make notebooks` ran, beside it."""
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        page = ROOT / "out/notebooks" / path.with_suffix(".md").name
        title, _, rest = page.read_text(encoding="utf-8").partition("\n")
        head = f"{title}\n\n[This page as a notebook]({path.name})\n"
        write(f"docs/notebooks/{page.name}", head + rest)
    for pictures in (ROOT / "out/notebooks").glob("*_files"):
        shutil.copytree(pictures, SOURCE / "docs/notebooks" / pictures.name)


def commands(program):
    """The help of every command and subcommand."""
    parts = ["# Commands\n\nThe help of each command, as `trimline COMMAND --help` prints it.\n"]

    def describe(words):
        text = output(program, *words, "--help")
        parts.append(f"## trimline {' '.join(words)}\n\n" if words else "")
        parts.append("".join(f"    {line}".rstrip() + "\n" for line in text.splitlines()) + "\n")
        listed = re.search(r"^Commands:\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
        for name in re.findall(r"^  (\S+)", listed[1], re.MULTILINE) if listed else []:
            if name != "help":
                describe([*words, name])

    describe([])
    write("reference/commands.md", "\n".join(parts))


def python_api():
    """A page from which mkdocstrings makes the Python API."""
    text = (
        "# Python API\n\n[Python package and clusters](../docs/python.md) introduces the package.\n"
    )
    exported = tomllib.loads(
        "names = "
        + re.search(
            r"^__all__ = (\[.*?\])",
            (ROOT / "python/trimline/__init__.py").read_text(),
            re.DOTALL | re.MULTILINE,
        )[1]
    )
    for name in exported["names"]:
        if name != "__version__":
            text += f"\n::: trimline.{name}\n"
    write("reference/python-api.md", text + "\n## Figures\n\n::: trimline.plot\n")


def rust(built):
    """A page with the crates, with links if rustdoc has `built` them."""
    text = "# Rust crates\n\n`cargo doc --workspace --no-deps` documents the crates.\n\n"
    text += "| crate | contains |\n|---|---|\n"
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(manifest.read_text())
        name = package["package"]["name"]
        module = package.get("lib", {}).get("name", name).replace("-", "_")
        if (manifest.parent / "src/lib.rs").exists():
            head = re.match(r"(?://! ?.*\n)+", (manifest.parent / "src/lib.rs").read_text())
            first = (
                re.sub(r"\n//! ?", " ", head[0].partition("\n//!\n")[0])
                .removeprefix("//! ")
                .strip()
            )
            sentence = re.sub(r"\[(`[^`]*`)\]", r"\1", re.split(r"(?<=\.) ", first)[0])
            link = f'<a href="../rust/{module}/index.html">{name}</a>' if built else name
            text += f"| {link} | {sentence} |\n"
    write("reference/rust.md", text)


def rows(readme):
    """The rows of an experiment's table that have the paper's number, else those judged."""
    table = re.search(r"<!-- measured: .*?-->\n(.*?)<!-- end -->", readme, re.DOTALL)
    lines = [line for line in table[1].splitlines() if line.startswith("| ")][1:] if table else []
    cells = [line.strip("| ").split(" | ") for line in lines]
    return [row for row in cells if row[1] != "-"] or [row for row in cells if row[6] != "reported"]


def pictures(name):
    """The pictures of an experiment: in the repository, else of a full run, else of a quick one."""
    flat = name.replace("/", "-")
    for pattern in (
        f"docs/figures/{flat}.png",
        f"out/{name}/{flat}*.png",
        f"out/quick/{name}/{flat}*.png",
    ):
        if found := sorted(ROOT.glob(pattern)):
            return found
    return []


def gallery():
    """A page of each paper's experiments: command, picture, the paper's numbers and ours."""
    index = (
        "# Gallery\n\nEvery experiment: its command, its figure, the paper's numbers and ours.\n\n"
    )
    index += "| paper | experiments | with a picture here |\n|---|---|---|\n"
    for paper, title in PAPERS.items():
        text, drawn = f"---\nsearch: {{ exclude: true }}\n---\n# {title}: figures and tables\n", 0
        readmes = sorted(ROOT.glob(f"experiments/{paper}/*/README.md"))
        for path in readmes:
            name, readme = f"{paper}/{path.parent.name}", path.read_text(encoding="utf-8")
            heading = readme.partition("\n")[0].removeprefix("# ")
            command = re.search(r"^    (?:trimline|make) .*$", readme, re.MULTILINE)
            link = f"[Set-up, results, causes of misses](../experiments/{name}/README.md)"
            text += f"\n## {heading}\n\n{link}\n\n"
            text += f"{command[0]}\n\n" if command else ""
            drawn += bool(pictures(name))
            for picture in pictures(name):
                copy = SOURCE / "gallery/figures" / picture.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(picture, copy)
                text += f"![{heading}](figures/{picture.name})\n\n"
            if found := rows(readme):
                table = "| finding | paper | ours | unit | verdict |\n|---|---|---|---|---|\n"
                table += "".join(
                    f"| {' | '.join([*row[:2], row[3], *row[5:]])} |\n" for row in found
                )
                if len(found) > FOLDED:
                    table = f'??? abstract "{len(found)} numbers"\n\n' + re.sub(
                        "^", "    ", table, flags=re.MULTILINE
                    )
                text += f"{table.rstrip()}\n"
        write(f"gallery/{paper}.md", text)
        index += f"| [{title}]({paper}.md) | {len(readmes)} | {drawn} |\n"
    write(
        "gallery/index.md",
        index + "\n`make quick` or `trimline reproduce NAME` draws the pictures into `out/`; "
        "a site that is built afterwards contains them. "
        "[Validation](../docs/validation.md) counts what holds.\n",
    )


class Loads(HTMLParser):
    """Collects what a page loads from another host."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        loaded = given.get("src") or (given.get("href") if tag == "link" else None) or ""
        if re.match(r"(https?:)?//", loaded) and tag != "a":
            self.found.append(loaded)


def faults(folder):
    """Pages and styles that load something from another host, or show Markdown."""
    wrong = []
    for path in folder.rglob("*.html"):
        page = Loads()
        text = path.read_text(encoding="utf-8")
        page.feed(text)
        wrong += [f"{path}: loads {one}" for one in page.found]
        wrong += [f"{path}: a block of code is not closed"] if "<p>```" in text else []
    for path in folder.rglob("*.css"):
        wrong += [
            f"{path}: loads {one}"
            for one in re.findall(r"url\(['\"]?(https?:[^)]*)", path.read_text())
        ]
    return wrong


def main(program):
    """0 if the site is built, complete and loads nothing."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE / version, ignore_errors=True)
    rustdoc = ROOT / "target/doc"
    documents()
    notebooks()
    commands(program)
    python_api()
    rust(rustdoc.exists())
    gallery()
    # With --quiet mkdocs would not count warnings.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", SITE / version]
    told = os.environ | {"NO_MKDOCS_2_WARNING": "1", "TRIMLINE_SITE": f"Trimline {version}"}
    made = subprocess.run(
        build, cwd=ROOT, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if made.returncode:
        sys.exit(made.stdout)
    wrong = faults(SITE / version)
    if rustdoc.exists():
        shutil.copytree(rustdoc, SITE / version / "rust")
    see = ROOT / "out/see/index.html"
    if see.exists():
        (SITE / version / "see").mkdir()
        shutil.copy(see, SITE / version / "see")
    (SITE / "latest").unlink(missing_ok=True)
    (SITE / "latest").symlink_to(version)
    built = sorted(
        (path.name for path in SITE.iterdir() if path.is_dir() and not path.is_symlink()),
        reverse=True,
    )
    (SITE / "versions.json").write_text(
        json.dumps(
            [
                {"version": one, "title": one, "aliases": ["latest"] if one == version else []}
                for one in built
            ]
        )
    )
    (SITE / "index.html").write_text(
        '<!doctype html><meta http-equiv="refresh" content="0; url=latest/index.html">\n'
    )
    print(
        "\n".join(wrong)
        or f"out/site/{version}: {len(list((SITE / version).rglob('*.html')))} pages"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())) if len(sys.argv) == 2 else __doc__)
