"""Where the members of one JSON object stand in a text. Takes texts that were read without a complaint before."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from limen.config.document import BadText, Mark
from limen.config.json_text import Piece, scan_json

__all__ = ["Member", "ObjectSpan", "find_member", "find_value_start", "span_object"]


class Member(Struct, frozen=True):
    """One `"key": value`, from the first character of the key to behind the last of the value."""

    key: str
    start: int
    value_start: int
    end: int
    comma: int | None
    """Where the comma behind it stands."""


class ObjectSpan(Struct, frozen=True):
    """An object from its `{` to behind its `}`."""

    start: int
    end: int
    members: Sequence[Member]
    last: int
    """Behind the last thing inside that is no white space: a value, a comma, a comment, or the `{` itself."""


def find_value_start(text: str) -> int | None:
    """Where the only value of a text begins; None when there is none."""
    return next((piece.start for piece in scan_json(text, _after_mark(text)) if piece.kind != "space"), None)


def span_object(text: str, start: int) -> ObjectSpan | None:
    """The object that begins at `start`; None when something else does."""
    if text[start] != "{":
        return None
    scan = _Scan()
    for piece in scan_json(text, start):
        if scan.take(piece):
            break
    return ObjectSpan(start, scan.end, tuple(scan.members), scan.last)


def find_member(text: str, span: ObjectSpan, key: str) -> Member | None:
    """The member of this name.

    Raises:
        BadText: it is there twice, so that an edit of either could be the wrong one.
    """
    found = [member for member in span.members if member.key == key]
    if len(found) > 1:
        at = found[1].start
        place = Mark(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        raise BadText(f"`{key[:60]}` is given twice", "remove one of the two", place)
    return found[0] if found else None


def _after_mark(text: str) -> int:
    return 1 if text.startswith("\ufeff") else 0


class _Scan:
    """Follows the pieces of one object, and looks no further into what its members hold."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.last = 0
        self.end = 0
        self._depth = 0
        self._key: Piece | None = None
        self._value_start: int | None = None

    def take(self, piece: Piece) -> bool:
        """Whether the object has ended with this piece."""
        kind, text, start = piece
        if kind == "space" and not text.startswith("/"):
            return False
        end = start + len(text.rstrip("\r"))
        if kind == "sign" and text in "}]":
            self._depth -= 1
            if self._depth == 0:
                self.end = end
                return True
        if kind == "space":
            self.last = end if self._depth == 1 else self.last
            return False
        if self._depth == 1:
            self._member(piece, end)
        self._depth += kind == "sign" and text in "{["
        self.last = end
        return False

    def _member(self, piece: Piece, end: int) -> None:
        kind, text, start = piece
        if kind == "sign" and text == ",":
            self.members[-1] = msgspec.structs.replace(self.members[-1], comma=start)
            self._key = None
        elif kind == "sign" and text == ":":
            pass
        elif self._key is None:
            self._key, self._value_start = piece, None
        elif kind == "sign" and text in "}]":
            self.members[-1] = msgspec.structs.replace(self.members[-1], end=end)
        else:
            key = msgspec.json.decode(self._key.text, type=str)
            self.members.append(Member(key, self._key.start, start, end, None))
