"""The longest paths of a netlist for Xilinx 7-series, from the delays that yosys knows of its cells.

Logic is reckoned exactly as yosys' models say (Artix-7, the slowest of the family); wires, before anything is placed, by their
fan-out alone. So this is a trend, quick enough for every run of CI, and no timing report: `rtl/fmax.py` places and routes.
"""

import functools
import json
import math
import pathlib
import re
import shutil
import sys

# A wire from cell to cell: what yosys' own mapper reckons with (300 ps), and chosen: 100 ps for each doubling of its ends.
WIRE_PS = 300
WIRE_PS_FOR_TWICE_THE_ENDS = 100
# Inside a slice there is no wire to speak of: what leads into a carry chain or from one of its links to the next, and into the
# multiplexers behind LUTs.
INSIDE_A_SLICE = {"CARRY4": ("S", "DI", "CI"), "MUXF7": ("I0", "I1"), "MUXF8": ("I0", "I1")}


class Arcs:
    """One kind of cell: ((input, bit), (output, bit)) -> ps; output -> ps behind the clock; input -> ps before it."""

    def __init__(self) -> None:
        self.through: dict[tuple, int] = {}
        self.behind: dict[tuple, int] = {}
        self.before: dict[tuple, int] = {}


def port_of(text: str) -> tuple:
    name, _, bit = text.partition("[")
    return name, int(bit.rstrip("]")) if bit else None


@functools.cache
def models() -> dict[str, Arcs]:
    found: dict[str, Arcs] = {}
    yosys = shutil.which("yosys")
    if yosys is None:
        sys.exit("missing: yosys")
    folder = pathlib.Path(yosys).resolve().parent.parent / "share" / "yosys"
    arcs = Arcs()
    # Two statements may share a line.
    for statement in (folder / "xilinx" / "cells_sim.v").read_text().replace("; (", ";\n(").splitlines():
        line = statement.split("//")[0]
        line = re.sub(r"/\*.*?\*/", "", line)
        if started := re.match(r"\s*module (\w+)", line):
            arcs = found.setdefault(started[1], Arcs())
        elif setup := re.search(r"\$setup\(\s*(\w+(?:\[\d+\])?)\s*,.*,\s*(-?\d+)\s*\)", line):
            key = port_of(setup[1])
            arcs.before[key] = max(arcs.before.get(key, 0), int(setup[2]))
        elif clocked := re.search(r"(if \(&?\|?\w*DO._REG\))?.*edge \w+\s*=>\s*\((\w+(?:\[\d+\])?).*=\s*(\d+)", line):
            # `|DO_REG` is said of the memory whose output has a register of its own; yosys makes none of these.
            if not (clocked[1] and "|" in clocked[1]):
                key = port_of(clocked[2])
                arcs.behind[key] = max(arcs.behind.get(key, 0), int(clocked[3]))
        elif through := re.search(r"^\s*\((\w+(?:\[\d+\])?)\s*[=*]>\s*(\w+(?:\[\d+\])?)\)\s*=\s*(\d+)", line):
            pair = (port_of(through[1]), port_of(through[2]))
            arcs.through[pair] = max(arcs.through.get(pair, 0), int(through[3]))
    return found


def same(pattern: tuple, port: str, bit: int) -> bool:
    return pattern[0] == port and pattern[1] in (None, bit)


class Netlist:
    """A flat module with the time at which each of its wires is settled."""

    def __init__(self, path: pathlib.Path) -> None:
        module = next(module for module in json.loads(path.read_text())["modules"].values()
                      if module.get("attributes", {}).get("top"))
        self.names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            for place, bit in enumerate(net["bits"]):
                known = self.names.get(bit)
                if known is None or (known.startswith("$"), len(known)) > (name.startswith("$"), len(name)):
                    self.names[bit] = name if len(net["bits"]) == 1 else f"{name}[{place}]"
        self.ends: dict[int, int] = {}
        # Where a wire comes from: (cell's kind, its input, wire, ps, wire costs something), or a start in ps.
        self.sources: dict[int, list] = {}
        self.starts: dict[int, int] = {}
        # (wire, ps before the clock, what it is an input of, wire costs something).
        self.goals: list[tuple] = []
        for name, cell in module["cells"].items():
            self.add(name, cell)
        self.arrival: dict[int, float] = {}
        self.came_from: dict[int, tuple | None] = {}

    def add(self, name: str, cell: dict) -> None:
        kind = cell["type"]
        if kind in ("GND", "VCC", "$scopeinfo"):
            return
        arcs = models().get(kind)
        if arcs is None or not (arcs.through or arcs.behind or arcs.before):
            raise ValueError(f"yosys knows no delays of a {kind}")
        directions = cell["port_directions"]
        inputs, outputs = [], []
        for port, bits in cell["connections"].items():
            for place, bit in enumerate(bits):
                if isinstance(bit, int):
                    (outputs if directions[port] == "output" else inputs).append((port, place, bit))
        inside = INSIDE_A_SLICE.get(kind, ())
        for port, place, bit in inputs:
            self.ends[bit] = self.ends.get(bit, 0) + 1
            setups = [ps for key, ps in arcs.before.items() if same(key, port, place)]
            if setups:
                self.goals.append((bit, max(setups), name, True))
        for port, place, bit in outputs:
            clocked = [ps for key, ps in arcs.behind.items() if same(key, port, place)]
            if clocked:
                self.starts[bit] = max(clocked)
            ways = self.sources.setdefault(bit, [])
            for source, at, wire in inputs:
                delays = [ps for (a, b), ps in arcs.through.items() if same(a, source, at) and same(b, port, place)]
                if delays:
                    ways.append((kind, source, wire, max(delays), source not in inside))

    def wire(self, bit: int, costs: bool) -> float:
        return WIRE_PS + WIRE_PS_FOR_TWICE_THE_ENDS * math.log2(self.ends[bit]) if costs else 0

    def settle(self, goal: int) -> float:
        """The time behind the clock at which a wire is settled: depth first, without recursion."""
        stack = [goal]
        while stack:
            bit = stack[-1]
            if bit in self.arrival:
                stack.pop()
                continue
            missing = [wire for _, _, wire, _, _ in self.sources.get(bit, []) if wire not in self.arrival]
            if missing:
                stack.extend(missing)
                continue
            best, origin = float(self.starts.get(bit, 0)), None
            for way in self.sources.get(bit, []):
                _, _, wire, ps, costs = way
                at = self.arrival[wire] + self.wire(wire, costs) + ps
                if at > best:
                    best, origin = at, way
            self.arrival[bit], self.came_from[bit] = best, origin
            stack.pop()
        return self.arrival[goal]

    def longest(self) -> list[dict]:
        """The longest path into each block, longest first: ps in all, of that in logic, cells on the way, from, to."""
        best: dict[str, tuple] = {}
        for bit, setup, name, costs in self.goals:
            ps = self.settle(bit) + self.wire(bit, costs) + setup
            block = block_of(self.goal_name(name, bit))
            if block not in best or ps > best[block][0]:
                best[block] = (ps, setup, name, bit)
        rows = []
        for block, (ps, setup, name, bit) in best.items():
            steps, wires, at = [], self.wire(bit, True), bit
            while (way := self.came_from[at]) is not None:
                steps.append((way[0], self.names[at]))
                wires += self.wire(way[2], way[4])
                at = way[2]
            rows.append({"block": block, "ps": round(ps), "logic_ps": round(ps - wires),
                         "levels": sum(kind.startswith("LUT") for kind, _ in steps), "from": self.names[at],
                         "to": self.goal_name(name, bit), "steps": steps[::-1]})
        return sorted(rows, key=lambda row: -row["ps"])

    def goal_name(self, cell: str, bit: int) -> str:
        return self.names[bit] if cell.startswith("$") else cell


def block_of(name: str) -> str:
    """The instance that a name begins with; `switch` for what stands at the top."""
    parts = name.split(".")
    if parts[0].startswith(("in[", "out[")):
        return parts[0].split("[")[0] + "." + parts[1]
    return parts[0] if len(parts) > 1 and not name.startswith("$") else "switch"
