"""When an unused server is stopped: the more it is used, the longer it is kept."""

from typing import Final

from limen.clock import monotonic
from limen.config.model import ServerEntry

__all__ = ["Usage"]

_HOUR_S: Final = 3600.0
_RATES: Final = ((20.0, 300.0), (5.0, 180.0))
"""Requests an hour, and how long a server with more than these is kept idle."""
_RARE_S: Final = 60.0


class Usage:
    """How a server is used, over all its lives."""

    def __init__(self) -> None:
        self.requests = 0
        self._first = 0.0
        self.last = monotonic()

    def note(self) -> None:
        """A request was made."""
        self.last = monotonic()
        if not self.requests:
            self._first = self.last
        self.requests += 1

    def rest(self) -> None:
        """From now on it is idle: it was started, or has answered."""
        self.last = monotonic()

    def keep_s(self, entry: ServerEntry) -> float | None:
        """How long it may be idle; None for ever."""
        if entry.idle_timeout == "never":
            return None
        if entry.idle_timeout != "adaptive":
            return entry.idle_timeout
        if not self.requests:
            # Just started and not used yet: whoever started it will come.
            return entry.max_idle_timeout_s
        return min(max(self._adapted_s(), entry.min_idle_timeout_s), entry.max_idle_timeout_s)

    def is_idle(self, entry: ServerEntry) -> bool:
        """Whether it has been idle long enough to stop it."""
        keep_s = self.keep_s(entry)
        return keep_s is not None and monotonic() - self.last > keep_s

    def _adapted_s(self) -> float:
        if self.requests < 2:
            return _RARE_S
        hours = max((monotonic() - self._first) / _HOUR_S, 1 / 60)
        rate = self.requests / hours
        return next((kept_s for least, kept_s in _RATES if rate > least), _RARE_S)
