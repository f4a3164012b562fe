"""Identifiers: ULIDs (sortable by time) for calls and records, unguessable tokens for sessions.

A ULID is ten lines; the libraries for it cost more to import than the whole wire core.
"""

from os import urandom
from secrets import token_urlsafe
from typing import NewType

from limen.clock import now_ms

__all__ = ["CallId", "SessionId", "new_call_id", "new_session_id", "ulid"]

CallId = NewType("CallId", str)
SessionId = NewType("SessionId", str)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _CROCKFORD for b in _CROCKFORD]
_SHIFTS = tuple(range(70, -1, -10))
_TIME_SHIFTS = tuple(range(40, -1, -10))


class _Ulids:
    """Makes ULIDs that grow even within a millisecond, and asks for randomness once in each."""

    __slots__ = ("_ms", "_time", "_value")

    def __init__(self) -> None:
        self._ms = -1
        self._time = ""
        self._value = 0

    def __call__(self) -> str:
        """A fresh 26-character ULID."""
        ms, pairs = now_ms(), _PAIRS
        if ms == self._ms:
            self._value += 1
        else:
            self._ms = ms
            self._time = "".join([pairs[ms >> shift & 1023] for shift in _TIME_SHIFTS])
            # One bit less than there is room for, so that counting on never runs over.
            self._value = int.from_bytes(urandom(10), "big") >> 1
        value = self._value
        return self._time + "".join([pairs[value >> shift & 1023] for shift in _SHIFTS])


ulid = _Ulids()


def new_call_id() -> CallId:
    """The id under which one call is recorded."""
    return CallId(ulid())


def new_session_id() -> SessionId:
    """192 random bits: possession is not proof of identity, but it cannot be guessed."""
    return SessionId(token_urlsafe(24))
