"""Figures of transfers beside long-lived flows, from made-up results: the numbers shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.test_options import Made

#: 9000 B in 60 us, 18000 B in 70 us, and one that has not ended.
FLOWS: Sequence[Mapping[str, object]] = (
    {"workload": "background"},
    {"workload": "transfer", "size_bytes": 9000, "fct_sender_ps": 60_000_000},
    {"workload": "transfer", "size_bytes": 18000, "fct_sender_ps": 70_000_000},
    {"workload": "transfer", "size_bytes": 9000, "fct_sender_ps": ""},
    {"workload": "transfer", "size_bytes": 9000, "start_ps": ""},
)


class Tables(Made):
    """ndp-evaluation/tables2-9: a panel a distribution and load, a line a protocol."""

    identifier = "ndp-evaluation/tables2-9"
    findings = (
        {"name": "Web 4:1, NDP: completed", "paper": 3},
        {"name": "Web 4:1, NDP: median", "paper": 65.0},
        {"name": "Web 4:1, NDP: 95th percentile", "paper": 90.0},
        {"name": "Web 4:1, DCTCP: median, fastest path", "paper": 300.0},
        {"name": "Web 4:1, MPTCP: median", "paper": 500.0},
    )

    def test_a_line_a_protocol_and_the_reports_dots(self) -> None:
        """Two of three ended; the matched loads and the small network are not shown."""
        for series in ("web-4to1-ndp", "web-4to1-dctcp", "web-4to1-ndp-matched", "small-ndp"):
            self.run_of(f"{series}/seed-1", FLOWS)
        figure = self.drawn("part")
        (axes,) = [axes for axes in figure.axes if axes.get_visible()]
        self.assertEqual(axes.get_title(loc="left"), "Web 4:1")
        ndp, *dots = axes.get_lines()
        self.assertEqual(list(ndp.get_xdata()), [0.06, 0.06, 0.07])
        self.assertEqual([round(float(y), 4) for y in ndp.get_ydata()], [0, 0.3333, 0.6667])
        places = {(float(dot.get_xdata()[0]), float(dot.get_ydata()[0])) for dot in dots[:2]}
        self.assertEqual(places, {(0.065, 0.5), (0.09, 0.95)})
        self.assertEqual(float(dots[3].get_xdata()[0]), 0.3)

    def test_mptcp_uncoupled_has_a_line_of_its_own(self) -> None:
        """In MPTCP's colour. The report's dots are drawn once."""
        for series in ("web-4to1-mptcp", "web-4to1-mptcp-uncoupled"):
            self.run_of(f"{series}/seed-1", FLOWS)
        coupled, dot, uncoupled = self.drawn("part").axes[0].get_lines()
        self.assertEqual([coupled.get_linestyle(), uncoupled.get_linestyle()], ["-", "--"])
        self.assertEqual(float(dot.get_xdata()[0]), 0.5)
        self.assertEqual(coupled.get_color(), uncoupled.get_color())

    def test_the_quick_tier_is_drawn(self) -> None:
        """It has a small network alone."""
        self.run_of("small-ndp/seed-1", FLOWS)
        figure = self.drawn("quick")
        self.assertEqual(figure.axes[0].get_title(loc="left"), "16 hosts")

    def test_what_is_not_there_is_named(self) -> None:
        """A series of another experiment, a run without transfers, a time that is none."""
        self.run_of("web-2to1-ndp/seed-1", FLOWS)
        self.refused("no sizes and load: 'web-2to1-ndp'")

    def test_a_run_without_transfers(self) -> None:
        """It would be drawn as a line at nothing."""
        self.run_of("web-4to1-ndp/seed-1", FLOWS[:1])
        self.refused("no flow of `transfer` began")

    def test_a_time_that_is_none(self) -> None:
        """The file is named."""
        self.run_of("web-4to1-ndp/seed-1", [{**FLOWS[1], "fct_sender_ps": "soon"}])
        self.refused("flows.csv: no usable .*soon")


class Seeds(Made):
    """ndp-evaluation/seeds50: FCT by size, and how many transfers ended in each seed."""

    identifier = "ndp-evaluation/seeds50"

    def test_each_seed_is_there(self) -> None:
        """The stalled seed ended one transfer less."""
        for seed in (1, 2):
            self.run_of(f"cache-4to1-bank/seed-{seed}", FLOWS)
        self.run_of("cache-4to1-no-bank/seed-1", FLOWS[:2])
        self.run_of("cache-4to1-no-bank/seed-2", FLOWS)
        left, right = self.drawn().axes
        # Two sizes of two seeds.
        self.assertEqual(len(left.get_lines()), 4)
        legend = left.get_legend()
        self.assertIsNotNone(legend)
        self.assertEqual([text.get_text() for text in legend.get_texts()], ["9 KB", "18 KB"])
        left.figure.draw_without_rendering()
        fastest = min(line.get_xdata()[0] for line in left.get_lines())
        names_end = legend.get_window_extent().x1
        self.assertLess(names_end, left.transData.transform((fastest, 0))[0], "beside the lines")
        kept, discarded = right.get_lines()
        self.assertEqual(list(kept.get_ydata()), [2, 2])
        self.assertEqual(list(discarded.get_ydata()), [2, 1])

    def test_other_protocols_alone_are_refused(self) -> None:
        """The figure is about the bank."""
        self.run_of("webndp-4to1-mptcp/seed-1", FLOWS)
        self.refused("no series with or without a bank")
