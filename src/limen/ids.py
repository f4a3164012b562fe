"""Identifiers: ULIDs (sortable by time) for calls and records, unguessable tokens for sessions.

A ULID is ten lines; the libraries for it cost more to import than the whole wire core.
"""

from functools import lru_cache
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


def ulid() -> str:
    """A fresh 26-character ULID."""
    value, pairs = int.from_bytes(urandom(10), "big"), _PAIRS
    return _time_text(now_ms()) + "".join([pairs[value >> shift & 1023] for shift in _SHIFTS])


@lru_cache(maxsize=1)
def _time_text(ms: int) -> str:
    # Many calls share a millisecond.
    return "".join([_PAIRS[ms >> shift & 1023] for shift in range(40, -1, -10)])


def new_call_id() -> CallId:
    """The id under which one call is recorded."""
    return CallId(ulid())


def new_session_id() -> SessionId:
    """192 random bits: possession is not proof of identity, but it cannot be guessed."""
    return SessionId(token_urlsafe(24))
