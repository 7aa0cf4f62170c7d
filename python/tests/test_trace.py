"""A traced incast: tshark decodes every packet; Perfetto's JSON and the table hold the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import polars

import trimline
from tests import skip

ROOT = Path(__file__).resolve().parents[2]
DISSECTOR = ROOT / "tools" / "wireshark" / "ndp.lua"

#: Sixteen senders push thirty packets each: headers are trimmed, and some are returned.
SCENARIO = """
topology.fattree.k = 4
switch.header_queue = "20pkt"

[[workload]]
name = "replies"
incast = { receiver = 0, senders = 15 }
size = "270KB"

[output]
timeline = { places = ["tor 0 down 0", "tor 0 up 0", "tor 0 up 1", "host 0", "host 1"] }
"""


class Trace(unittest.TestCase):
    """`trimline trace`."""

    def setUp(self) -> None:
        """Makes a folder with the scenario."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "incast.toml").write_text(SCENARIO, encoding="utf-8")

    def trimline(self, *words: str) -> str:
        """Calls the command."""
        code = "import sys; from trimline.__main__ import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def tshark(self, display: str, *fields: str, dissector: bool = True) -> list[list[str]]:
        """The packets that a display filter passes, with some of their fields."""
        words = ["tshark", "-r", "out/trace.pcapng", "-o", "tcp.check_checksum:TRUE"]
        words += ["-X", f"lua_script:{DISSECTOR}"] if dissector else []
        words += ["-Y", display, "-T", "fields"]
        for field in ("frame.number", *fields):
            words += ["-e", field]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Lua", done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def test_tshark_decodes_every_packet_of_an_incast(self) -> None:
        """No packet is malformed; the table has as many trimmed, returned and pulled packets."""
        if shutil.which("tshark") is None:
            skip(self, "tshark is not installed")
        said = self.trimline("trace", "incast.toml", "--out", "out")
        events = trimline.Results.read(self.folder / "out")[0].timeline
        departs = events.filter(event="depart")
        self.assertIn(f"{len(departs)} packets", said)
        every = self.tshark("frame", "frame.time_epoch", "ndp_trim.kind", "ndp_trim.sequence")
        self.assertEqual(len(every), len(departs))
        self.assertGreater(len(every), 1000)
        self.assertEqual(self.tshark("!ndp_trim"), [])
        self.assertEqual(self.tshark("_ws.malformed || _ws.expert.group == malformed"), [])
        # Nanoseconds, rounded down.
        for row, time in zip(every, departs["time_ps"], strict=True):
            seconds, part = row[1].split(".")
            self.assertEqual(int(seconds) * 10**9 + int(part[:9]), time // 1000)
        kinds = departs["packet"].value_counts()
        count = dict(kinds.iter_rows())
        self.assertGreater(count.get("returned", 0), 0)
        for display, kind in (
            ("ndp_trim.trimmed && !ndp_trim.returned", "header"),
            ("ndp_trim.returned", "returned"),
            ("ndp_trim.kind == 0 && !ndp_trim.trimmed", "data"),
            ("ndp_trim.kind == 1", "ack"),
            ("ndp_trim.kind == 2", "nack"),
            ("ndp_trim.kind == 3", "pull"),
        ):
            self.assertEqual(len(self.tshark(display)), count.get(kind, 0), display)
        self.assertGreater(len(self.tshark("ndp_trim.expert.retransmission")), 0)
        self.assertGreater(len(self.tshark("ndp_trim.pull_counter > 0")), count["pull"] // 2)

    def test_tshark_decodes_tcp_without_a_dissector(self) -> None:
        """SYNs, flags, SACK, time stamps, ECN and Multipath TCP as real hosts would send them."""
        if shutil.which("tshark") is None:
            skip(self, "no tshark")
        text = (
            'topology.star.hosts = 6\n[[workload]]\nname = "w"\nsize = "900KB"\n'
            "incast = { receiver = 0, senders = 5 }\n"
            '[output]\ntimeline = { places = ["tor 0 down 0", "host 0", "host 1"] }\n'
        )
        said = {}
        for name, keys in (
            ("tcp", 'tcp = { sack = true, timestamps = true, timers = "datacenter" }'),
            ("dctcp", "dctcp = {}"),
            ("mptcp", "mptcp = { subflows = 2 }"),
        ):
            scenario = f"transport.{keys}\n{text}"
            (self.folder / "tcp.toml").write_text(scenario, encoding="utf-8")
            self.trimline("trace", "tcp.toml", "--out", "out")
            every = self.tshark("frame", "tcp.port", "tcp.flags.syn", "tcp.len", dissector=False)
            timeline = polars.read_csv(self.folder / "out/timeline.csv", infer_schema_length=None)
            self.assertEqual(len(every), timeline.filter(event="depart").height)
            self.assertTrue(all(ports for _, ports, _, _ in every), name)
            for wrong in ("_ws.malformed", "tcp.checksum.status == 0", "!tcp"):
                self.assertEqual(self.tshark(wrong, dissector=False), [], f"{name}: {wrong}")
            for display in (
                *("tcp.flags.syn == 1 && tcp.flags.ack == 0", "tcp.options.sack.count > 0"),
                *("ip.dsfield.ecn == 3", "tcp.flags.ece == 1 && tcp.flags.syn == 0"),
                *("tcp.options.timestamp.tsecr > 0", "tcp.options.mptcp.rawdataack"),
                *("tcp.options.mptcp.rawdataseqno", "tcp.flags.push == 1 && tcp.len > 0"),
            ):
                said[name, display] = len(self.tshark(display, dissector=False))
            # The bytes of a flow are all there, each at its place.
            ends = self.tshark(
                "tcp.dstport == 5001 && ip.src == 10.0.0.2", "tcp.seq", "tcp.len", dissector=False
            )
            last = max(int(at) + int(length) for _, at, length in ends)
            self.assertEqual(last, 900_001 if name != "mptcp" else last, name)
        self.assertEqual(
            {name for (name, what), count in said.items() if count and "syn == 1" in what},
            {"tcp", "dctcp", "mptcp"},
        )
        has = {
            what: [name for name in ("tcp", "dctcp", "mptcp") if said[name, what]]
            for _, what in said
        }
        self.assertEqual(has["ip.dsfield.ecn == 3"], ["dctcp"])
        self.assertEqual(has["tcp.flags.ece == 1 && tcp.flags.syn == 0"], ["dctcp"])
        self.assertIn("tcp", has["tcp.options.sack.count > 0"])
        self.assertIn("tcp", has["tcp.options.timestamp.tsecr > 0"])
        self.assertEqual(has["tcp.options.mptcp.rawdataack"], ["mptcp"])
        self.assertEqual(has["tcp.options.mptcp.rawdataseqno"], ["mptcp"])
        self.assertEqual(len(has["tcp.flags.push == 1 && tcp.len > 0"]), 3)

    def test_one_flow_is_followed_everywhere(self) -> None:
        """All its packets, at every place on their way; Perfetto's slices are its departures."""
        self.trimline("trace", "incast.toml", "--flow", "3", "--out", "out")
        result = trimline.Results.read(self.folder / "out")[0]
        events = result.timeline
        flow = result.flows.row(3, named=True)
        ends = (polars.col("source") == flow["source"]) & (polars.col("index") == flow["index"])
        self.assertEqual(len(events.filter(~ends)), 0)
        self.assertGreater(events["place"].n_unique(), 5)
        trace = json.loads((self.folder / "out" / "trace.json").read_text(encoding="utf-8"))
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(len(slices), len(events.filter(event="depart")))
        named = [event["pid"] for event in trace["traceEvents"] if event["ph"] == "M"]
        self.assertEqual(len(named), events["place"].n_unique())
        page = trimline.report(self.folder / "out").read_text(encoding="utf-8")
        self.assertIn("NACK", page)


class Browser(unittest.TestCase):
    """A report in headless Chromium."""

    def test_the_report_of_432_hosts_renders(self) -> None:
        """Every plot is drawn, no error, no request, less than 3 MB."""
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            skip(self, "chromium is not installed")
        scenario = {
            "name": "large",
            "duration": "500us",
            "topology": {"fattree": {"hosts": 432}},
            "workload": [
                {"name": "background", "permutation": {}, "size": "long-lived"},
                {
                    "name": "web",
                    "random": {},
                    "size": {"distribution": "web-ndp-paper"},
                    "arrivals": {"poisson": {"load": "20%"}},
                },
            ],
            "output": {"ports": True, "series": "10us", "timeline": {"flows": [[0, 431], [7, 0]]}},
        }
        scenario["workload"].append({"name": "one", "pairs": [[0, 431]], "size": "90KB"})
        with tempfile.TemporaryDirectory() as scratch:
            results = trimline.run(scenario, scratch)
            path = trimline.report(results.folder)
            self.assertLess(path.stat().st_size, 3_000_000)
            dom = subprocess.run(
                [
                    *(chromium, "--headless", "--no-sandbox", "--disable-gpu"),
                    *("--virtual-time-budget=8000", "--window-size=1200,3000"),
                    *(f"--user-data-dir={scratch}/profile", "--enable-logging=stderr"),
                    *("--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", path.as_uri()),
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
        head = dom.stdout[: dom.stdout.index(">", dom.stdout.index("<html")) + 1]
        self.assertIn('data-errors="0"', head)
        self.assertIn('data-requests="0"', head)
        plots = dom.stdout.count('<div class="plot" id=')
        self.assertIn(f'data-drawn="{plots}"', head)
        self.assertGreater(plots, 4)
        self.assertEqual(dom.stdout.count("<canvas"), plots)
        self.assertNotIn("CONSOLE", dom.stderr)
        # Every link of the network has the colour of its load; packets of a flow are drawn.
        network = dom.stdout.split('<svg class="topology"')[1].split("</svg>")[0]
        self.assertEqual(network.count("<line"), 3 * 432)
        self.assertGreater(len(set(re.findall(r'stroke="(#\w+)"', network))), 20)
        packets = dom.stdout.split('<svg class="sequence"')[1].split("</svg>")[0]
        self.assertIn("host 431", packets)
        self.assertGreater(packets.count("<line"), 50)


if __name__ == "__main__":
    unittest.main()
