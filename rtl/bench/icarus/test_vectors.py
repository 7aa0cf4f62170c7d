"""Expanded vectors on the switch under Icarus Verilog: a second simulator, with unset values as X.

Run by rtl/icarus.py. What a vector calls serving is a link that becomes free, as in rtl/bench/vectors.cpp; this program
shares no line with that one. A control output that is X, or a byte of a packet that is, fails the vector.
"""

import collections
import os
import pathlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

PORTS = 4
REGISTERS = ("data_packets", "data_bytes", "header_bytes", "ratio", "strict", "return", "coin")
WIDTHS = {"packets": 13, "bytes": 20}
COUNT_WIDTH = 32


class Vector:
    def __init__(self, dut, path: pathlib.Path):
        self.dut = dut
        self.path = path
        self.line = 0
        self.bytes = len(dut.s_axis_tkeep) // PORTS
        self.ndp = int(os.environ["NDP"])
        self.coins: collections.deque[int] = collections.deque()
        self.left: list[collections.deque[str]] = [collections.deque() for _ in range(PORTS)]
        self.ready = 0
        self.pause = (1 << PORTS) - 1

    def fail(self, what: str) -> AssertionError:
        return AssertionError(f"{self.path.name}:{self.line}: {what}")

    def number(self, signal: str, index: int = 0, width: int | None = None) -> int:
        """A signal, or its field of that number and width: no bit of it may be X. What goes with a beat may be, where there
        is no beat."""
        digits = getattr(self.dut, signal).value.binstr
        if width is not None:
            digits = digits[len(digits) - (index + 1) * width : len(digits) - index * width]
        if set(digits) - {"0", "1"}:
            raise self.fail(f"{signal} is {digits}")
        return int(digits, 2)

    def bit(self, signal: str, port: int) -> int:
        return self.number(signal, port, 1)

    async def tick(self) -> None:
        """One cycle. Outputs depend on registers alone, so they are read here, half a cycle after the edge."""
        draws = self.number("status_coin")
        if draws and not self.coins:
            raise self.fail("a coin was drawn that the vector does not lay out")
        self.dut.coin.value = self.coins[0] if self.coins else 0
        held = self.number("m_axis_tvalid") & ~self.ready
        before = [self.beat(port) if held >> port & 1 else "" for port in range(PORTS)]
        await FallingEdge(self.dut.clk)
        if draws:
            self.coins.popleft()
        for port in range(PORTS):
            if held >> port & 1 and not (self.bit("m_axis_tvalid", port) and self.beat(port) == before[port]):
                raise self.fail(f"port {port} changed a beat that was not accepted")

    def beat(self, port: int) -> str:
        """The bytes that are kept, as hexadecimal digits."""
        width = self.bytes
        keep = self.number("m_axis_tkeep", port, width)
        if keep == 0 or keep & (keep + 1):
            raise self.fail(f"port {port}: tkeep has holes")
        count = keep.bit_length()
        digits = self.dut.m_axis_tdata.value.binstr
        end = len(digits) - port * width * 8
        bits = digits[end - count * 8 : end]
        if set(bits) - {"0", "1"}:
            raise self.fail(f"port {port}: a byte of a packet is {bits}")
        return int(bits, 2).to_bytes(count, "little").hex()

    async def configure(self, words: list[str]) -> None:
        dut = self.dut
        values = dict(word.split("=") for word in words)
        if int(values.pop("ndp")) != self.ndp:
            raise self.fail("this switch was built otherwise")
        for name in REGISTERS:
            getattr(dut, f"cfg_{name}").value = int(values.pop(name))
        if values:
            raise self.fail(f"unknown registers {values}")
        dut.cfg_seed.value = 1
        for name in ("s_axis_tvalid", "s_axis_tlast", "s_axis_tuser", "s_axis_tkeep", "s_axis_tdata", "m_axis_tready",
                     "table_write", "coin"):
            getattr(dut, name).value = 0
        dut.m_pause.value = self.pause
        dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        while not self.number("status_ready"):
            await FallingEdge(dut.clk)
        for host in range(PORTS):
            await self.write_table(host, 1, 0x0A000000 | host << 8, 0xFFFFFF00, host)
            await self.write_table(PORTS + host, 0, 0x020000000000 | host, 0xFFFFFFFFFFFF, host)

    async def write_table(self, index: int, ip: int, key: int, mask: int, port: int) -> None:
        dut = self.dut
        dut.table_write.value = 1
        dut.table_valid.value = 1
        dut.table_index.value = index
        dut.table_ip.value = ip
        dut.table_key.value = key
        dut.table_mask.value = mask
        dut.table_port.value = port
        await self.tick()
        dut.table_write.value = 0

    async def arrive(self, port: int, frame: bytes) -> None:
        dut = self.dut
        width = self.bytes
        at = 0
        while at < len(frame):
            beat = frame[at : at + width]
            data = beat + bytes(width - len(beat))
            dut.s_axis_tdata.value = int.from_bytes(data, "little") << port * width * 8
            dut.s_axis_tkeep.value = ((1 << len(beat)) - 1) << port * width
            dut.s_axis_tvalid.value = 1 << port
            dut.s_axis_tlast.value = (at + width >= len(frame)) << port
            accepted = self.bit("s_axis_tready", port)
            await self.tick()
            at += width if accepted else 0
        dut.s_axis_tvalid.value = 0
        for _ in range(len(frame) // width + 24):
            await self.tick()

    async def serve(self, port: int) -> None:
        dut = self.dut

        async def accept() -> None:
            self.ready = 1 << port
            dut.m_axis_tready.value = self.ready
            await self.tick()
            self.ready = 0
            dut.m_axis_tready.value = 0

        if self.bit("m_axis_tvalid", port):
            if not self.bit("m_axis_tlast", port):
                raise self.fail("a packet on the wire is not at its last beat")
            await accept()
        # A port may choose its next packet before the last has left; here it may when told to, once.
        dut.m_pause.value = self.pause & ~(1 << port)
        await self.tick()
        dut.m_pause.value = self.pause
        for _ in range(32):
            if self.bit("m_axis_tvalid", port):
                break
            await self.tick()
        if not self.bit("m_axis_tvalid", port):
            return
        packet = ""
        while True:
            for _ in range(64):
                if self.bit("m_axis_tvalid", port):
                    break
                await self.tick()
            else:
                raise self.fail("a packet that began does not go on")
            packet += self.beat(port)
            if self.bit("m_axis_tlast", port):
                break
            await accept()
        self.left[port].append(packet)

    def fields(self, signal: str, width: int) -> list[int]:
        return [self.number(signal, port, width) for port in range(PORTS)]

    def count(self, name: str) -> int:
        if name == "coins":
            return self.number("count_coins")
        if name == "notified":
            return 0
        if "." in name:
            port, what = name.split(".")
            queue, unit = what.split("_")
            # One queue: headers wait where everything waits.
            queue = queue if self.ndp else "data"
            return self.fields(f"status_{queue}_{unit}", WIDTHS[unit])[int(port)]
        return sum(self.fields(f"count_{name}", COUNT_WIDTH))

    async def run(self) -> None:
        for self.line, text in enumerate(self.path.read_text().splitlines(), 1):
            verb, *words = text.split()
            if verb == "config":
                await self.configure(words)
            elif verb == "packet":
                await self.arrive(int(words[0]), bytes.fromhex(words[1]))
            elif verb == "serve":
                for _ in range(int(words[1]) if len(words) > 1 else 1):
                    await self.serve(int(words[0]))
            elif verb == "coin":
                self.coins.extend(int(word) for word in words)
            elif verb == "expect":
                port = int(words[0])
                if not self.left[port]:
                    raise self.fail(f"missing packet at port {port}")
                got = self.left[port].popleft()
                if got != words[1]:
                    raise self.fail(f"expected\n  {words[1]}\nnot\n  {got}")
            elif verb == "count":
                got = self.count(words[0])
                if got != int(words[1]):
                    raise self.fail(f"{words[0]} is {got}, not {words[1]}")
            elif verb != "profile":
                raise self.fail(f"expected a command, not {verb}")
        if any(self.left):
            raise self.fail("surplus packets")
        if self.coins:
            raise self.fail(f"{len(self.coins)} coins were not drawn")
        for name in ("no_memory", "discarded", "unrouted"):
            if self.number(f"count_{name}"):
                raise self.fail(f"a packet was lost: {name}")


@cocotb.test()
async def vectors(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 2, units="ns").start(start_high=False))
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    paths = [pathlib.Path(path) for path in pathlib.Path(os.environ["VECTORS"]).read_text().split()]
    for path in paths:
        await Vector(dut, path).run()
    assert paths, "there are no vectors"
