#!/usr/bin/env python3
"""Tests the page of docs/see.md in headless Chromium: see_test.py INDEX.html TRIMLINE.

Its results must have the bytes of the command TRIMLINE.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

SETTINGS = 12


class Browser:
    """A page of headless Chromium, driven over the pipes of its DevTools protocol."""

    def __init__(self, program: str, profile: str) -> None:
        (reads, self.to), (self.come, writes) = os.pipe(), os.pipe()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]
        command = [
            "bash",
            "-c",
            f'exec "$@" 3<&{reads} 4>&{writes}',
            "bash",
            program,
            *flags,
            "about:blank",
        ]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, pass_fds=(reads, writes), stdout=quiet, stderr=quiet
        )
        os.close(reads)
        os.close(writes)
        self.number, self.rest, self.session, self.faults = 0, b"", None, []
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.call("Runtime.enable")

    def call(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.number:
            if answer.get("method") == "Runtime.exceptionThrown":
                self.faults.append(answer["params"]["exceptionDetails"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def read(self) -> dict:
        while b"\0" not in self.rest:
            more = os.read(self.come, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression: str) -> object:
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + 60
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"not within a minute: {expression}")
            time.sleep(0.02)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def native(trimline: str, text: str, folder: pathlib.Path) -> dict[str, dict[str, str]]:
    """The files of each run of a scenario, by the run's name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "see.toml").write_text(text)
    command = [trimline, "run", folder / "see.toml", "--out", folder / "out"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    files = {}
    for flows in (folder / "out").rglob("flows.csv"):
        place = flows.parent
        files[str(place.relative_to(folder / "out"))] = {
            name: (place / name).read_text() if (place / name).exists() else ""
            for name in ("flows.csv", "summary.json", "ports.csv", "pauses.csv")
        }
    return files


def test(browser: Browser, page: pathlib.Path, trimline: str, folder: pathlib.Path) -> None:
    draws = random.Random(1)
    settings = [{}, {"senders": 64, "size": 300, "window": 30}, {"senders": 2, "size": 1}]
    while len(settings) < SETTINGS:
        settings.append(
            {
                "senders": draws.randint(2, 64),
                "size": draws.randint(1, 200),
                "queue": draws.randint(4, 100),
                "window": draws.randint(1, 100),
                "rate": draws.choice([10, 25, 40, 100, 400]),
                "mark": draws.randint(1, 100),
                "headers": draws.randint(1, 200),
            }
        )
    same = 0
    for place, chosen in enumerate(settings):
        address = "&".join(f"{name}={value}" for name, value in (chosen | {"time": 0}).items())
        browser.call("Page.navigate", url=f"{page.as_uri()}?{place}#{address}")
        browser.wait("document.body?.dataset.state === 'done'")
        kept = dict(
            pair.split("=") for pair in browser.evaluate("location.hash").lstrip("#").split("&")
        )
        assert all(kept[name] == str(value) for name, value in chosen.items()), (chosen, kept)
        text, runs = browser.evaluate(
            "[byId('text').value, columns.map((each) => "
            "[each.name, each.csv, each.summary, each.ports, each.pauses])]"
        )
        expected = native(trimline, text, folder)
        assert [run[0] for run in runs] == [
            f"{name}/seed-1" for name in ("drop", "mark", "trim", "pause", "return")
        ]
        for name, *files in runs:
            for (file, bytes_expected), bytes_here in zip(
                expected[name].items(), files, strict=True
            ):
                assert bytes_here == bytes_expected, f"{chosen}: {name}: {file} differs"
                same += 1

    # What buttons copy, and that hosts stop for as long as the simulator counted.
    browser.call("Page.navigate", url=f"{page.as_uri()}?copy#time=100")
    browser.wait("document.body?.dataset.state === 'done'")
    copied = browser.evaluate(
        """(async () => {
          const copied = [];
          navigator.clipboard.writeText = async (text) => copied.push(text);
          byId("copy-toml").click();
          document.querySelectorAll("article button").forEach((button) => button.click());
          return copied;
        })()"""
    )
    expected = native(trimline, copied[0], folder)
    order = ["drop", "mark", "trim", "pause", "return"]
    assert copied[1:] == [expected[f"{name}/seed-1"]["flows.csv"] for name in order]
    stopped = browser.evaluate(
        "Object.values(columns[3].view.pauses)"
        ".flatMap((times) => times.map((time, place) => place % 2 ? time : -time))"
        ".reduce((sum, time) => sum + time, 0)"
    )
    rows = [row.split(",") for row in expected["pause/seed-1"]["pauses.csv"].splitlines()[1:]]
    counted = sum(int(row[3]) for row in rows if row[0].startswith("host")) / 1e6
    assert counted > 0 and abs(stopped - counted) < 0.001 * counted, (stopped, counted)

    # A mistake is shown with its place; a text of the user's runs and is in the address.
    browser.evaluate("byId('text').value = 'topology.star.hosts = \"3\"'; byId('run-text').click()")
    browser.wait("document.body.dataset.state === 'error'")
    error = browser.evaluate("byId('error').textContent")
    assert error.startswith("scenario.toml:1:23: "), error
    own = 'topology.star.hosts = 3\nworkload = [{ name = "w", pairs = [[1, 0]], size = "9KB" }]\n'
    browser.evaluate(f"byId('text').value = {json.dumps(own)}; byId('run-text').click()")
    browser.wait("document.body.dataset.state === 'done'")
    address = browser.evaluate("location.hash")
    browser.call("Page.navigate", url=f"{page.as_uri()}?own{address}")
    browser.wait("document.body?.dataset.state === 'done'")
    assert browser.evaluate("[byId('text').value, columns[0].csv]") == [
        own,
        native(trimline, own, folder)["seed-1"]["flows.csv"],
    ]

    loaded = browser.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    assert all(name.startswith(("blob:", "data:")) for name in loaded), loaded
    assert not browser.faults, browser.faults
    print(f"{page}: {len(settings)} settings, {same} files with the bytes of {trimline}")


def main() -> None:
    page, trimline = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("SKIPPED: chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, f"{folder}/profile")
        try:
            test(browser, page, trimline, pathlib.Path(folder) / "run")
        finally:
            browser.close()


main()
