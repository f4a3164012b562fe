"""The one row that tells where an index is, and how it is read and written."""

import msgspec
from msgspec import Struct

from limen.brain.index import indexsql
from limen.brain.index.sealing import open_value, seal_value
from limen.db.sqlite import Connection

__all__ = ["State", "add_dead", "change_state", "read_dead", "read_state", "write_state"]


class State(Struct, frozen=True, array_like=True):
    """Where an index is."""

    applied: int = 0
    mark: str = ""
    """The id of the newest commit it has taken in."""
    generation: int = 0
    """Counts the changes of its segments."""
    segments: int = 0
    """How many it has."""
    next_document: int = 1
    next_passage: int = 1
    next_segment: int = 1
    deaths: int = 0
    """How many documents ever died."""
    dead: int = 0
    """How many of them are still in a segment or fresh."""
    waiting: int = 0
    """How many passages are fresh."""
    epoch: int = 1
    """Counts its models."""
    model: str = ""
    token: bytes = b""
    """Drawn when the database was made: another token is another index. It is not part of what is written."""

    def is_after(self, other: "State") -> bool:
        """Whether it may be of the same index at the same time or later."""
        return self.token == other.token and all(getattr(self, name) >= getattr(other, name) for name in _GROWING)


_GROWING = ("applied", "generation", "next_document", "next_passage", "next_segment", "deaths", "epoch")
_decoder = msgspec.msgpack.Decoder(State)


def read_state(db: Connection) -> State:
    """Where the index is.

    Raises:
        ValueError: it cannot be told.
    """
    row = db.execute(indexsql.STATE).fetchone()
    if row is None:
        raise ValueError("the index has no state")
    token, kept = row
    if not isinstance(token, bytes):
        raise ValueError("the index has no token")  # noqa: TRY004 - of what is kept, not of an argument
    state = State() if kept is None else open_value(0, kept, _decoder)
    return msgspec.structs.replace(state, token=token)


def write_state(db: Connection, state: State) -> None:
    """Be there."""
    db.execute(indexsql.SET_STATE, (seal_value(0, msgspec.structs.replace(state, token=b"")),))


def change_state(db: Connection, **changes: int | str) -> State:
    """Change some of it, in a transaction that its caller frames; what it was before."""
    before = read_state(db)
    write_state(db, msgspec.structs.replace(before, **changes))
    return before


def read_dead(db: Connection, state: State, *, after: int = 0) -> list[int]:
    """The documents that are dead, of those that died after so many others.

    Raises:
        ValueError: there are not as many as the state says.
    """
    found: list[int] = []
    for position, number, check in db.execute(indexsql.DEAD_AFTER, (after,)):
        if not isinstance(number, int) or check != _check(position, number):
            raise ValueError("a dead document is not who it was")
        found.append(number)
    if len(found) != (state.deaths - after if after else state.dead):
        raise ValueError("the dead do not add up")
    return found


def add_dead(db: Connection, position: int, number: int) -> None:
    """Note that a document is dead, as the one at this position among all that ever died."""
    db.execute(indexsql.ADD_DEAD, (position, number, _check(position, number)))


def _check(position: int, number: int) -> int:
    return (position * 2654435761 ^ number * 40503) & 0xFFFFFFFF
