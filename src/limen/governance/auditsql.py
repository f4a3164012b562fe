"""Every SQL statement of the audit trail, for the tables that `db/hubsql.py` makes."""

from collections.abc import Iterable

__all__ = [
    "ADVANCE",
    "APPEND",
    "FORGET",
    "HEAD",
    "LAST",
    "MOVED",
    "NOTE_MOVED",
    "ROWS",
    "TOUCH",
    "lines_after",
    "lines_newest_first",
]

HEAD = "select seq, hash from audit_head where one = 1"

# Changes one row while the head is what the writer believes, and none once somebody else has appended.
ADVANCE = "update audit_head set seq = ?, hash = ? where one = 1 and seq = ? and hash = ?"

# Each value is a row's hash and its body; they are numbered from the first parameter on.
APPEND = (
    "insert into audit (seq, hash, body)"
    " select ?1 + rowid, substr(value, 1, 32), cast(substr(value, 33) as text) from carray(?2)"
)

# How many bytes of a spool the chain already has.
MOVED = "select moved from audit_spool where name = ?"

NOTE_MOVED = (
    "insert into audit_spool (name, moved) values (?, ?) on conflict (name) do update set moved = excluded.moved"
)

FORGET = "delete from audit_spool where name = ?"

# Writes a page and changes nothing.
TOUCH = "update audit_head set seq = seq where one = 1"

# Bodies as blobs: a tampered text that is no longer UTF-8 must be reported, not fail to decode.
ROWS = "select seq, hash, cast(body as blob) from audit order by seq"

LAST = "select coalesce(max(seq), 0) from audit"

_LINES = "select seq, cast(body as blob) from audit_rows"

_WANTED = {
    "server": "server glob ?",
    "tool": "name glob ?",
    "method": "method glob ?",
    "identity": "subject glob ?",
    "since": "at >= ?",
}


def lines_newest_first(wanted: Iterable[str]) -> str:
    """Rows that meet the named conditions, the last one first."""
    return f"{_LINES} where {_conditions(wanted)} order by seq desc"


def lines_after(wanted: Iterable[str]) -> str:
    """Rows past the one whose number is the last parameter, by the same conditions, in order."""
    return f"{_LINES} where {_conditions(wanted)} and seq > ? order by seq"


def _conditions(wanted: Iterable[str]) -> str:
    # A tampered body that is no JSON passes, so that whoever reads it can say so instead of hiding it.
    both = " and ".join(_WANTED[name] for name in wanted)
    return f"(not json_valid(body) or ({both}))" if both else "true"
