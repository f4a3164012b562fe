"""Identifiers: ULIDs (sortable by time) for calls and records, unguessable tokens for sessions.

A ULID is ten lines; the libraries for it cost more to import than the whole wire core.
"""

from collections.abc import Callable
from os import urandom
from secrets import token_urlsafe
from time import time_ns
from typing import NewType

__all__ = ["CallId", "SessionId", "Ulids", "new_call_id", "new_session_id", "ulid"]

CallId = NewType("CallId", str)
SessionId = NewType("SessionId", str)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _CROCKFORD for b in _CROCKFORD]
_EARLY_SHIFTS = tuple(range(40, 0, -10))
_STEM_SHIFTS = tuple(range(60, -1, -10))
_LAST_PAIR = len(_PAIRS) - 1


class Ulids:
    """Makes ULIDs that grow even within a millisecond, and asks for randomness about once in a second.

    The time grows and the random part stays until the next draw, so each id is as unlike those of other processes as
    the first of them.
    """

    __slots__ = ("_drawn", "_early", "_last", "_ms", "_second", "_stem", "_value")

    def __init__(self) -> None:
        self._ms = -1
        self._second = -1
        self._early = ""
        self._value = 0
        self._drawn = ""
        self._stem = ""
        self._last = _LAST_PAIR

    def __call__(self) -> CallId:
        """A fresh 26-character ULID."""
        ms = time_ns() // 1_000_000
        if ms == self._ms and self._last < _LAST_PAIR:
            # Most calls: only the last two letters count on.
            self._last += 1
            # Every call has one made: the step to `CallId` and back, which changes nothing, would cost as much.
            return self._stem + _PAIRS[self._last]  # pyright: ignore[reportReturnType]
        return CallId(self.begin(ms))

    def begin(self, ms: int) -> str:
        """The first ULID of a millisecond, or of its next thousand."""
        early, drawn = self._early, self._drawn
        if ms == self._ms:
            drawn = self._spell(self._value + 1)
        elif ms >> 10 != self._second or ms < self._ms:
            # Also when the clock was set back: no id may be given out twice.
            early = "".join([_PAIRS[ms >> shift & 1023] for shift in _EARLY_SHIFTS])
            # One bit less than there is room for, so that counting on never runs over.
            drawn = self._spell(int.from_bytes(urandom(9), "big") >> 3)
        # Nothing is called from here on, so another thread finds all of it or nothing.
        self._ms, self._second, self._last = ms, ms >> 10, 0
        self._early, self._drawn = early, drawn
        self._stem = stem = early + _PAIRS[ms & 1023] + drawn
        return stem + _PAIRS[0]

    def _spell(self, value: int) -> str:
        self._value = value
        return "".join([_PAIRS[value >> shift & 1023] for shift in _STEM_SHIFTS])


new_call_id = Ulids()
"""The id under which one call is recorded."""
ulid: Callable[[], str] = new_call_id
"""The same for any other record."""


def new_session_id() -> SessionId:
    """192 random bits: possession is not proof of identity, but it cannot be guessed."""
    return SessionId(token_urlsafe(24))
