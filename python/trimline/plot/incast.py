"""The ideal of an incast: the receiver's link is not idle until the last packet has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
        links = {run.host_link for run in runs}
        of_runs = [(run.flows["size_bytes"], run.flows["ideal_fct_ps"]) for run in runs]
        sizes: set[Any] = {end or 0 for size, _ in of_runs for end in (size.min(), size.max())}
        unknown = sum(column.null_count() for columns in of_runs for column in columns)
        if len(sizes) != 1 or 0 in sizes or len(links) != 1 or unknown:
            raise MalformedResult(
                f"flows of one size over equal links were expected, not of {sorted(sizes)} bytes"
            )
        size = sizes.pop()
        busy = links.pop().busy_ps(size)
        ideals: list[Any] = [ideal.max() for _, ideal in of_runs]
        return Ideal(size, busy, max(ideals) - busy)

    def ms(self, senders: float) -> float:
        """Completion of the last of `senders` flows, in ms."""
        return (senders * self.busy_ps + self.way_ps) / 1e9

    def over_percent(self, fct_ms: float, senders: float) -> float:
        """Per cent over the ideal completion."""
        return 100 * (fct_ms / self.ms(senders) - 1)
