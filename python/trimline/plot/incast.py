"""The ideal of an incast: the receiver's link is not idle until the last packet has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimline.files import MalformedResult
from trimline.plot.experiment import Run


@dataclass(frozen=True)
class Ideal:
    """The ideal of an incast in which all senders send the same number of bytes."""

    #: Bytes of a flow.
    size_bytes: int
    #: How long a flow occupies the receiver's link.
    busy_ps: float
    #: What the farthest flow takes longer than that in an idle network.
    way_ps: float

    @staticmethod
    def of(runs: Sequence[Run]) -> Ideal:
        """The ideal is one number only when all flows have one size and all hosts one link."""
        sizes = {size or 0 for run in runs for size in run.flows["size_bytes"].unique()}
        links = {run.host_link for run in runs}
        ideals = [time for run in runs for time in run.flows["ideal_fct_ps"].unique()]
        if len(sizes) != 1 or 0 in sizes or len(links) != 1 or None in ideals:
            raise MalformedResult(
                f"flows of one size over equal links were expected, not of {sorted(sizes)} bytes"
            )
        size = sizes.pop()
        busy = links.pop().busy_ps(size)
        return Ideal(size, busy, max(ideals) - busy)

    def ms(self, senders: float) -> float:
        """Completion of the last of `senders` flows, in ms."""
        return (senders * self.busy_ps + self.way_ps) / 1e9

    def over_percent(self, fct_ms: float, senders: float) -> float:
        """Per cent over the ideal completion."""
        return 100 * (fct_ms / self.ms(senders) - 1)
