#!/usr/bin/env python3
"""Runs the expanded vectors under Icarus Verilog with cocotb: `make rtl-icarus`, `make rtl-icarus-all`.

Without --all: the vectors of the profile `paper` with at most 120 lines and all of `drop-tail`, at 256 bits.
"""

import argparse
import pathlib
import sys
import time

from cocotb.runner import get_results, get_runner

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANY_LINES = 120


def run(width: int, ndp: int, vectors: list[pathlib.Path], cells: int) -> bool:
    folder = ROOT / "out" / "rtl" / f"icarus{width}-{ndp}"
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "vectors.txt"
    names.write_text("\n".join(str(path) for path in vectors))
    started = time.monotonic()
    runner = get_runner("icarus")
    runner.build(
        sources=sorted((ROOT / "rtl" / "src").glob("*.sv")),
        hdl_toplevel="ndp_switch",
        parameters={"DATA_W": width, "NDP": ndp, "CELLS": cells, "DATA_SLOTS": 1024, "HEADER_SLOTS": 2048},
        build_dir=folder,
        build_args=["-g2012"],
        timescale=("1ns", "1ps"),
        log_file=folder / "build.log",
        always=True,
    )
    results = runner.test(
        hdl_toplevel="ndp_switch",
        test_module="test_vectors",
        test_dir=ROOT / "rtl" / "bench" / "icarus",
        build_dir=folder,
        results_xml=str(folder / "results.xml"),
        extra_env={"VECTORS": str(names), "NDP": str(ndp), "COCOTB_LOG_LEVEL": "INFO", "PYTHONDONTWRITEBYTECODE": "1"},
        log_file=folder / "run.log",
    )
    tests, failed = get_results(results)
    if failed or tests != 1:
        print((folder / "run.log").read_text(), file=sys.stderr)
        return False
    print(f"{len(vectors)} vectors hold under Icarus Verilog (DATA_W = {width}, NDP = {ndp}), {time.monotonic() - started:.0f} s")
    return True


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="every vector, at 64, 128, 256 and 512 bits")
    parser.add_argument("--width", type=int, action="append", help="these widths")
    arguments = parser.parse_args()
    vectors = sorted((ROOT / "out" / "vectors").glob("*.hex"))
    if not vectors:
        sys.exit("no vectors in out/vectors: cargo xtask vectors --expand out/vectors")
    drop_tail = [path for path in vectors if ".drop-tail." in path.name]
    ndp = [path for path in vectors if ".drop-tail." not in path.name]
    if not arguments.all:
        ndp = [path for path in ndp if ".paper." in path.name and len(path.read_text().splitlines()) <= MANY_LINES]
    widths = arguments.width or ([64, 128, 256, 512] if arguments.all else [256])
    cells = 16384 if arguments.all else 2048
    good = all([run(width, 1, ndp, cells) for width in widths])
    return 0 if run(256, 0, drop_tail, cells) and good else 1


if __name__ == "__main__":
    sys.exit(main())
