#!/usr/bin/env python3
"""Looks for data races between the threads of one run, with ThreadSanitizer.

Needs nightly Rust. The standard library is not instrumented, so the sanitizer takes its threads, test harness and
reference counts for races: only those count whose both sides work on parts of a run (`Part::perform`).
"""

import argparse
import os
import re
import subprocess
import sys

TARGET = "x86_64-unknown-linux-gnu"
COMMAND = ["cargo", "+nightly", "test", "--package", "trimline-sim", "--test", "runs", "--target", TARGET]
# Every transport under every switch profile, links that fail and lose, and what tests/runs/threads.rs has.
TESTS = ["threads::", "every_transport::", "links::"]
AT_WORK = "threads::Part>::perform"


def races(log):
    """The reports both of whose sides were at work on a part of a run."""
    found = []
    for report in log.split("WARNING: ThreadSanitizer: data race")[1:]:
        sides = re.split(r"\n\s*Previous ", re.split(r"\n\s*(?:Location|Thread T)", report)[0])
        if len(sides) == 2 and all(AT_WORK in side for side in sides):
            found.append(report)
    return found


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    environment = dict(os.environ)
    environment["RUSTFLAGS"] = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
    environment["CARGO_TARGET_DIR"] = "target/data-races"
    environment["TSAN_OPTIONS"] = "halt_on_error=0 exitcode=0"
    tests = ["--", "--test-threads", "1", *TESTS]
    done = subprocess.run([*COMMAND, *tests], env=environment, capture_output=True, text=True)
    ran = re.findall(r"test result: ok. (\d+) passed", done.stdout)
    if done.returncode != 0 or not ran:
        sys.exit(f"error: {' '.join(COMMAND)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    found = races(done.stdout + done.stderr)
    for report in found[:3]:
        print(report.split("\n\n\n")[0])
    print(f"{ran[-1]} tests, {len(found)} data races between threads of a run")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
