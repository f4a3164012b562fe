"""Counts what happened on the road, for whoever watches it; a few additions per call and nothing more."""

from bisect import bisect_left
from typing import Final

from msgspec import Struct, field

from limen.calls.call import Call, Capability, Outcome

__all__ = ["BUCKETS_S", "Durations", "Meter"]

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Durations(Struct):
    """How long calls took: how many within each bound, and all together."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    total_s: float = 0.0


class Meter(Struct, eq=False):
    """What this process has seen. Names of tools are left out: there may be thousands."""

    calls: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    """Calls by source, method and outcome."""
    durations: dict[str, Durations] = field(default_factory=dict[str, Durations])
    """By source."""

    def note(self, call: Call, capability: Capability | None, outcome: Outcome) -> None:
        """A call has ended."""
        source = "" if capability is None else capability.source
        key = (source, call.method, outcome.status)
        self.calls[key] = self.calls.get(key, 0) + 1
        durations = self.durations.get(source)
        if durations is None:
            durations = self.durations[source] = Durations()
        took_s = outcome.duration_ms / 1000
        durations.counts[bisect_left(BUCKETS_S, took_s)] += 1
        durations.total_s += took_s
