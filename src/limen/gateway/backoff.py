"""When a server that failed may be tried again: at once after one misfortune, later and later after many."""

from random import uniform
from typing import Final

from limen.clock import monotonic

__all__ = ["Backoff"]

FIRST_S: Final = 30.0
LONGEST_S: Final = 300.0
JITTER: Final = 0.2
TOLERATED: Final = 3
"""Deaths in a row, without a single answer in between, after which a server that does start is left alone, too."""


class Backoff:
    """Counts what went wrong in a row."""

    def __init__(self) -> None:
        self._failures = 0
        self._deaths = 0
        self._until = 0.0

    @property
    def failures(self) -> int:
        """What went wrong since it last went well."""
        return self._failures

    def wait_s(self) -> float:
        """How long it is not worth trying; 0 when it is."""
        return max(0.0, self._until - monotonic())

    def went_well(self) -> None:
        """It answered."""
        self._failures = self._deaths = 0
        self._until = 0.0

    def did_not_start(self) -> None:
        """It could not be reached at all."""
        pause_s = min(FIRST_S * 2**self._failures, LONGEST_S)
        self._failures += 1
        self._until = monotonic() + pause_s * uniform(1 - JITTER, 1 + JITTER)

    def died(self) -> None:
        """It was reached and is gone."""
        self._deaths += 1
        if self._deaths >= TOLERATED:
            self.did_not_start()

    def reset(self) -> None:
        """Somebody has mended something."""
        self.went_well()
