"""A settings file as a tree in which every key and value knows its line, built within limits on depth and size.

Values stay the text that was written: what they mean is decided by the setting they are for. An alias shares the node
it names, and counts with its full size, so that no small file can stand for a huge tree.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

__all__ = [
    "MOST_DEPTH",
    "MOST_NODES",
    "BadText",
    "Builder",
    "Duplicate",
    "Field",
    "Items",
    "Mark",
    "Node",
    "Scalar",
    "Table",
    "is_null",
    "written",
]

MOST_DEPTH: Final = 32
MOST_NODES: Final = 50_000

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE = "<<"


class Mark(NamedTuple):
    """A place in a file, counted from 1."""

    line: int
    column: int


class Scalar(Struct, frozen=True):
    """One written value."""

    text: str
    at: Mark
    is_quoted: bool = False
    size: int = 1


class Items(Struct, frozen=True):
    """A list."""

    items: "tuple[Node, ...]"
    at: Mark
    size: int = 1


class Field(Struct, frozen=True):
    """One key of a table and what it holds."""

    key: str
    at: Mark
    value: "Node"


class Table(Struct, frozen=True):
    """Keys and values, each key once."""

    fields: tuple[Field, ...]
    at: Mark
    size: int = 1


Node = Scalar | Items | Table


class BadText(ValueError):
    """The text is no document that can be read any further."""

    def __init__(self, message: str, fix: str, at: Mark) -> None:
        super().__init__(message)
        self.fix = fix
        self.at = at


class Duplicate(Struct, frozen=True):
    """A key that was already given; `keys` leads to it from the root."""

    keys: Sequence[str]
    at: Mark
    first: Mark


def is_null(node: Node) -> bool:
    """Whether nothing was written: `key:`, `~` or `null`."""
    return isinstance(node, Scalar) and not node.is_quoted and node.text in _NULLS


def written(node: Node) -> object:
    """The node as plain data, every value as the text it was written with."""
    match node:
        case Scalar():
            return None if is_null(node) else node.text
        case Items():
            return [written(item) for item in node.items]
        case Table():
            return {item.key: written(item.value) for item in node.fields}


class _Open(Struct):
    """A list or table whose end has not come yet."""

    at: Mark
    anchor: str | None
    is_table: bool
    size: int = 1
    items: list[Node] = field(default_factory=list[Node])
    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    key: Scalar | None = None
    merged: list[Table] = field(default_factory=list[Table])


class Builder:
    """Takes the parts of a document in the order they are read, whatever the syntax they are written in."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.duplicates: list[Duplicate] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}

    def scalar(self, text: str, at: Mark, *, is_quoted: bool, anchor: str | None = None) -> None:
        """A key or a value."""
        self._place(Scalar(text, at, is_quoted), at, anchor)

    def open_table(self, at: Mark, anchor: str | None = None) -> None:
        """A table begins."""
        self._begin(_Open(at, anchor, is_table=True))

    def open_items(self, at: Mark, anchor: str | None = None) -> None:
        """A list begins."""
        self._begin(_Open(at, anchor, is_table=False))

    def close(self) -> None:
        """The innermost list or table ends."""
        ended = self._open.pop()
        if ended.is_table:
            for table in ended.merged:
                for item in table.fields:
                    ended.fields.setdefault(item.key, item)
            node = Table(tuple(ended.fields.values()), ended.at, ended.size)
        else:
            node = Items(tuple(ended.items), ended.at, ended.size)
        self._place(node, ended.at, ended.anchor)

    def alias(self, name: str, at: Mark) -> None:
        """The node that was given this name stands here too."""
        node = self._anchors.get(name)
        if node is None:
            raise BadText(f"`*{name}` names nothing", f"mark the value to repeat with `&{name}` before it is used", at)
        self._place(node, at, None)

    def _begin(self, opened: _Open) -> None:
        if len(self._open) >= MOST_DEPTH:
            raise BadText(f"nested more than {MOST_DEPTH} levels deep", "settings need no more than six", opened.at)
        if self._open and self._open[-1].is_table and self._open[-1].key is None:
            raise BadText("a list or a mapping is used as a key", "write the key as plain text", opened.at)
        self._open.append(opened)

    def _place(self, node: Node, at: Mark, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.size += node.size
        if parent.size > MOST_NODES:
            raise BadText(f"holds more than {MOST_NODES} values, aliases counted", "make the file smaller", at)
        if not parent.is_table:
            parent.items.append(node)
        elif parent.key is None:
            if not isinstance(node, Scalar):
                raise BadText("a list or a mapping is used as a key", "write the key as plain text", at)
            parent.key = Scalar(node.text, at, node.is_quoted)
        else:
            self._fill(parent, parent.key, node)

    def _fill(self, table: _Open, key: Scalar, value: Node) -> None:
        first = table.fields.get(key.text)
        if key.text == _MERGE and not key.is_quoted:
            table.merged += _tables(value, key.at)
        elif first is not None:
            keys = tuple(opened.key.text for opened in self._open if opened.key is not None)
            self.duplicates.append(Duplicate(keys, key.at, first.at))
        else:
            table.fields[key.text] = Field(key.text, key.at, value)
        table.key = None


def _tables(value: Node, at: Mark) -> list[Table]:
    """What `<<` brings in: one table or a list of them, the first having precedence."""
    found = list(value.items) if isinstance(value, Items) else [value]
    tables = [node for node in found if isinstance(node, Table)]
    if len(tables) != len(found):
        raise BadText("`<<` can bring in mappings only", "write `<<: *name` where `&name` marks a mapping", at)
    return tables
