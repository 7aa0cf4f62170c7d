#!/usr/bin/env python3
"""The resources that the switch takes of a Xilinx 7-series FPGA, NDP on and off, and its longest paths, by yosys:
`make rtl-resources`.

Four ports, 256 bits, 12 KB of data and 12 KB of headers a port; and the blocks that stand alone. Compares with rtl/resources.json and fails when a
number has grown by more than 2 %, or the longest path by more than 5 %; with --write, writes that file; with --path BLOCK,
prints the cells of the longest path into that block. These are numbers of synthesis alone: nothing is placed, and what
wires cost is an estimate (rtl/timing.py).
"""

import json
import pathlib
import subprocess
import sys

import timing

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "rtl" / "resources.json"
# 12 KB of data and, with NDP, as much of headers at each of four ports, and three longest packets on their way in.
CELLS = {1: 2048, 0: 1024}
PARAMETERS = {"MAX_BYTES": 1600, "DATA_SLOTS": 256, "HEADER_SLOTS": 256, "INPUT_BYTES": 16384}
# Blocks that stand alone: OPF's decision for eight ports; HULL's modules at the NetFPGA's width (5.1).
ALONE = {"detour": {"PORTS": 8}, "phantom_queue": {"DATA_W": 64}, "pacer": {}}
LUTS = {"LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "LUT5": 1, "LUT6": 1}
# Memories made of LUTs, in LUTs (UG474).
LUT_MEMORIES = {"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4, "SRL16E": 1, "SRLC32E": 1}


def synthesise(ndp: int) -> dict:
    parameters = " ".join(f"-set {name} {value}" for name, value in {"NDP": ndp, "CELLS": CELLS[ndp], **PARAMETERS}.items())
    sources = " ".join(str(path) for path in sorted((ROOT / "rtl" / "src").glob("*.sv")))
    out = ROOT / "out" / "rtl" / f"stat{ndp}.json"
    netlist = out.with_name(f"netlist{ndp}.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    script = (
        f"read_verilog -sv {sources}; chparam {parameters} ndp_switch; "
        f"synth_xilinx -family xc7 -top ndp_switch -noiopad; tee -q -o {out} stat -json; "
        f"flatten; clean; write_json {netlist}"
    )
    subprocess.run(["yosys", "-q", "-p", script], check=True, cwd=ROOT)
    text = out.read_text()
    modules = json.loads(text[text.index("{"):])["modules"]
    return {"blocks": blocks(modules), "paths": timing.Netlist(netlist).longest()}


def synthesise_alone(block: str) -> dict:
    """What a block takes by itself, and its longest path."""
    sets = " ".join(f"-set {name} {value}" for name, value in ALONE[block].items())
    parameters = f"chparam {sets} {block}; " if sets else ""
    out = ROOT / "out" / "rtl" / f"stat-{block}.json"
    netlist = out.with_name(f"netlist-{block}.json")
    script = (
        f"read_verilog -sv {ROOT / 'rtl' / 'src' / block}.sv; {parameters}"
        f"synth_xilinx -family xc7 -flatten -nodsp -top {block} -noiopad; tee -q -o {out} stat -json; write_json {netlist}"
    )
    subprocess.run(["yosys", "-q", "-p", script], check=True, cwd=ROOT)
    text = out.read_text()
    cells = json.loads(text[text.index("{"):])["modules"]
    (one,) = [own(module["num_cells_by_type"]) for module in cells.values()]
    return {**one, "longest_ns": round(timing.Netlist(netlist).longest()[0]["ps"] / 1000, 1)}


def own(cells: dict) -> dict:
    # What this table does not know must not go unseen.
    unknown = [cell for cell in cells if cell.startswith(("RAM", "DSP", "SRL", "LUT")) and cell not in
               {**LUTS, **LUT_MEMORIES, "RAMB36E1": 1, "RAMB18E1": 1}]
    if unknown:
        sys.exit(f"not in the table: {unknown}")
    luts = sum(count for cell, count in cells.items() if cell in LUTS)
    luts += sum(count * LUT_MEMORIES[cell] for cell, count in cells.items() if cell in LUT_MEMORIES)
    flip_flops = sum(count for cell, count in cells.items() if cell.startswith("FD"))
    bram36 = cells.get("RAMB36E1", 0) + cells.get("RAMB18E1", 0) / 2
    return {"lut": luts, "ff": flip_flops, "bram36": bram36}


def blocks(modules: dict) -> dict:
    """Each kind of block with its count and the total that its blocks take."""
    counts: dict[str, int] = {}

    def walk(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1
        for cell, count in modules[name]["num_cells_by_type"].items():
            if cell in modules:
                for _ in range(count):
                    walk(cell)

    # The top is the one that no other contains.
    inside = {cell for module in modules.values() for cell in module["num_cells_by_type"]}
    walk(next(name for name in modules if "ndp_switch" in name and name not in inside))
    table: dict[str, dict] = {}
    for name, count in counts.items():
        plain = name.split("\\")[-2] if name.startswith("$paramod") and name.count("\\") > 1 else name.strip("\\")
        known = ("input_queue", "drr_arbiter", "cell_chain", "header_parser", "forwarding_table", "admission", "checksum_terms",
                 "output_queue", "packet_reader", "egress", "ndp_switch")
        plain = next((block for block in known if block in name), plain)
        row = table.setdefault(plain, {"number": 0, "lut": 0, "ff": 0, "bram36": 0})
        one = own(modules[name]["num_cells_by_type"])
        row["number"] += count
        for key, value in one.items():
            row[key] += value * count
    table["total"] = {key: sum(row[key] for row in table.values()) for key in ("lut", "ff", "bram36")}
    return dict(sorted(table.items()))


def main() -> int:
    on, off = synthesise(1), synthesise(0)
    alone = {block: synthesise_alone(block) for block in ALONE}
    found = {"ndp_on": on["blocks"], "ndp_off": off["blocks"], "parameters": PARAMETERS, "alone": alone,
             "longest_ns": {name: round(side["paths"][0]["ps"] / 1000, 1) for name, side in (("ndp_on", on), ("ndp_off", off))}}
    increment = {key: found["ndp_on"]["total"][key] - found["ndp_off"]["total"][key] for key in ("lut", "ff", "bram36")}
    found["increment"] = increment
    print(f"{'block':18} {'LUT':>12} {'FF':>12} {'BRAM36':>12}    (NDP on / off)")
    for block, row in found["ndp_on"].items():
        off = found["ndp_off"].get(block, {"lut": 0, "ff": 0, "bram36": 0})
        print(f"{block:18} " + " ".join(f"{row[key]:>6g}/{off[key]:<6g}" for key in ("lut", "ff", "bram36")))
    print(f"increment: {increment['lut']} LUT, {increment['ff']} FF, {increment['bram36']} BRAM36; "
          "the paper's over its reference switch: 13900 LUT, 6900 FF, 37 BRAM")
    for block, row in alone.items():
        print(f"{block:18} alone: {row['lut']} LUT, {row['ff']} FF, {row['bram36']:g} BRAM36, {row['longest_ns']} ns")
    print("longest paths, NDP on, with an estimate of wires:")
    for row in on["paths"]:
        print(f"{row['block']:18} {row['ps'] / 1000:6.1f} ns, {row['logic_ps'] / 1000:.1f} of them in logic: {row['from']} to {row['to']}")
        if "--path" in sys.argv[:-1] and row["block"] == sys.argv[sys.argv.index("--path") + 1]:
            print("".join(f"    {kind} {name}\n" for kind, name in row["steps"]), end="")
    if "--write" in sys.argv:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    kept = json.loads(KEPT.read_text())
    grown = [
        f"{side}, {block}: {key} {kept[side][block][key]} -> {row[key]}"
        for side in ("ndp_on", "ndp_off")
        for block, row in found[side].items()
        for key in ("lut", "ff", "bram36")
        if row[key] > kept[side].get(block, row)[key] * 1.02 + 4
    ]
    grown += [f"{side}: longest path {kept['longest_ns'][side]} -> {ns} ns" for side, ns in found["longest_ns"].items()
              if ns > kept["longest_ns"][side] * 1.05]
    grown += [
        f"{block} alone: {key} {kept['alone'][block][key]} -> {row[key]}"
        for block, row in alone.items()
        for key, slack in (("lut", 1.02), ("ff", 1.02), ("bram36", 1.02), ("longest_ns", 1.05))
        if row[key] > kept["alone"].get(block, row)[key] * slack + (0 if key == "longest_ns" else 4)
    ]
    for line in grown:
        print(f"grown: {line}", file=sys.stderr)
    within = increment["lut"] <= 13900 and increment["ff"] <= 6900 and increment["bram36"] <= 37
    if not within:
        print("the increment exceeds the paper's", file=sys.stderr)
    return 1 if grown or not within else 0


if __name__ == "__main__":
    sys.exit(main())
