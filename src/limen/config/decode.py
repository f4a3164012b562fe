"""Turns a document into the structs of the model, and collects every problem on the way instead of stopping at one."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Literal

from msgspec import Struct, field, inspect

from limen.config.document import Field, Items, Mark, Node, Scalar, Table, is_null
from limen.config.problems import Problem, Severity, suggest
from limen.config.shapes import Shape, bare, describe_shape, is_optional, parse_scalar
from limen.config.variables import expand
from limen.redact import redact_text

__all__ = ["INVALID", "Decoder", "Origin"]

_MOST_SHOWN = 60
# Settings that may hold secrets: no message repeats what was written there.
_PRIVATE = frozenset({"args", "command", "env", "headers", "url"})
# Comparing words takes time; a file with more mistakes than this is some other file.
_MOST_SUGGESTIONS = 200


class _Invalid(Enum):
    INVALID = "invalid"


INVALID: Final = _Invalid.INVALID
"""Stands for a value that could not be read; why is among the problems."""


class Origin(Struct, frozen=True):
    """Where a setting was given, and what was written there before variables were filled in."""

    source: Literal["file", "environment"]
    name: str
    line: int | None = None
    written: Node | None = None

    def __str__(self) -> str:
        """`limen.yaml:3` or `$LIMEN_PORT`."""
        if self.source == "environment":
            return f"${self.name}"
        return self.name if self.line is None else f"{self.name}:{self.line}"

    def __repr__(self) -> str:
        """Leaves out what was written: it may be a secret."""
        return f"Origin({str(self)!r})"


class Decoder(Struct, kw_only=True):
    """Reads one file, or one server's entry in it.

    `hints` says for keys of other programs what they are called here. What `is_off` needs no secrets: variables
    that are not set are gathered in `unset` and are no problem.
    """

    file: str
    env: Mapping[str, str]
    server: str | None = None
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    is_off: bool = False
    unset: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    origins: dict[str, Origin] = field(default_factory=dict[str, Origin])

    def report(self, at: Mark, path: str, message: str, fix: str, severity: Severity = "error") -> None:
        """Note a problem."""
        self.problems.append(
            Problem(
                severity=severity,
                message=message,
                fix=fix,
                path=path,
                file=self.file,
                line=at.line,
                column=at.column,
                server=self.server,
            )
        )

    def struct(self, shape: inspect.StructType, fields: Sequence[Field], at: Mark, path: str) -> Struct | _Invalid:
        """The struct that the fields describe; what cannot be read is left at its default."""
        known = {item.encode_name: item for item in shape.fields}
        given: dict[str, object] = {}
        for entry in fields:
            target = known.get(entry.key)
            if target is None:
                self._unknown(shape, entry, path)
                continue
            if is_null(entry.value) and not _is_single(bare(target.type)):
                # `key:` with all that belongs to it commented out.
                continue
            is_shown = entry.key not in _PRIVATE
            value = self.value(target.type, entry.value, _join(path, entry.key), at=entry.at, is_shown=is_shown)
            if value is not INVALID:
                given[target.name] = value
        absent = [item.encode_name for item in shape.fields if item.required and item.name not in given]
        present = {entry.key for entry in fields}
        for name in absent:
            if name not in present:
                self.report(at, _join(path, name), f"`{_join(path, name)}` is missing", f"add `{name}`")
        return INVALID if absent else shape.cls(**given)

    def value(self, shape: Shape, node: Node, path: str, *, at: Mark, is_shown: bool = True) -> object:
        """The value of one setting, or INVALID; `at` is where its key stands."""
        inner = bare(shape)
        if is_null(node) and is_optional(shape):
            return None
        value = self._read(shape, inner, node, path, is_shown=is_shown)
        # A server that cannot be used is still shown as it was written; any other bad value is the default's.
        if (value is not INVALID or self.server is not None) and not isinstance(inner, inspect.StructType):
            self.origins[path] = Origin("file", self.file, at.line, node)
        return value

    def _read(self, shape: Shape, inner: Shape, node: Node, path: str, *, is_shown: bool) -> object:
        match inner, node:
            case inspect.StructType(), Table():
                return self.struct(inner, node.fields, node.at, path)
            case inspect.VarTupleType(), Items():
                return self._items(inner, node, path, is_shown=is_shown)
            case inspect.DictType(), Table():
                return self._table(inner, node, path)
            case _, Scalar() if _is_single(inner) and not is_null(node):
                return self._scalar(shape, node, path, is_shown=is_shown)
            case _:
                self._wrong(shape, node, path, is_shown=is_shown)
                return INVALID

    def _items(self, shape: inspect.VarTupleType, node: Items, path: str, *, is_shown: bool) -> object:
        values = [
            self.value(shape.item_type, item, f"{path}[{index}]", at=item.at, is_shown=is_shown)
            for index, item in enumerate(node.items)
        ]
        if len(values) < (shape.min_length or 0):
            self.report(node.at, path, f"`{path}` is an empty list", "name at least one, or remove the key")
            return INVALID
        return INVALID if any(value is INVALID for value in values) else tuple(values)

    def _table(self, shape: inspect.DictType, node: Table, path: str) -> object:
        values: dict[str, object] = {}
        is_whole = True
        for entry in node.fields:
            place = _join(path, entry.key)
            is_whole &= self._is_key(shape.key_type, entry, place)
            value = self.value(shape.value_type, entry.value, place, at=entry.at, is_shown=False)
            if value is INVALID:
                is_whole = False
            else:
                values[entry.key] = value
        return values if is_whole else INVALID

    def _is_key(self, shape: Shape, entry: Field, path: str) -> bool:
        try:
            parse_scalar(shape, entry.key)
        except ValueError:
            self.report(
                entry.at, path, f"`{path[:_MOST_SHOWN]}` has a name it cannot have", f"use {describe_shape(shape)}"
            )
            return False
        return True

    def _scalar(self, shape: Shape, node: Scalar, path: str, *, is_shown: bool) -> object:
        filled = expand(node.text, self.env)
        self.unset += filled.missing
        for name in () if self.is_off else filled.missing:
            self.report(
                node.at,
                path,
                f"`{path}` needs the variable {name}, which is not set",
                f"set {name} in the environment, or write `${{{name}:-default}}`",
            )
        for form in filled.malformed:
            self.report(node.at, path, f"`{path}` holds a `${{` that is no variable", _variable_fix(form))
        if not filled.is_complete:
            return INVALID
        try:
            return parse_scalar(shape, filled.text, home=self.env.get("HOME") or self.env.get("USERPROFILE"))
        except ValueError:
            self._wrong(shape, node, path, is_shown=is_shown)
            return INVALID

    def _wrong(self, shape: Shape, node: Node, path: str, *, is_shown: bool) -> None:
        message = f"`{path}` cannot be {_found(node, is_shown=is_shown)}"
        self.report(node.at, path, message, _shape_fix(shape, node, path))

    def _unknown(self, shape: inspect.StructType, entry: Field, path: str) -> None:
        names = [item.encode_name for item in shape.fields]
        homes = [
            item.encode_name
            for item in shape.fields
            if isinstance(inner := bare(item.type), inspect.StructType)
            and any(nested.encode_name == entry.key for nested in inner.fields)
        ]
        if entry.key in self.hints:
            fix = self.hints[entry.key]
        elif homes:
            fix = f"move it under `{homes[0]}:`"
        elif len(self.problems) < _MOST_SUGGESTIONS and (meant := suggest(entry.key, names)) is not None:
            fix = f"did you mean `{meant}`?"
        else:
            fix = f"remove it; what can stand here: {', '.join(names)}"
        place = f" in `{path}`" if path else ""
        self.report(entry.at, _join(path, entry.key), f"unknown key `{entry.key[:_MOST_SHOWN]}`{place}", fix)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_single(shape: Shape) -> bool:
    return not isinstance(shape, (inspect.StructType, inspect.VarTupleType, inspect.DictType))


def _found(node: Node, *, is_shown: bool) -> str:
    match node:
        case Items():
            return "a list"
        case Table():
            return "a mapping"
        case _ if is_null(node):
            return "nothing"
        case _ if not is_shown:
            return "the value given here"
        case _:
            text = redact_text(node.text)
            return f"`{text}`" if len(text) <= _MOST_SHOWN else f"`{text[:_MOST_SHOWN]}…`"


def _shape_fix(shape: Shape, node: Node, path: str) -> str:
    if isinstance(bare(shape), inspect.VarTupleType) and isinstance(node, Scalar):
        return "put it in square brackets: `[…]`"
    if path.endswith(".command") and isinstance(node, Items):
        return "keep the program in `command` and move the rest to `args`"
    if is_null(node):
        return f"write {describe_shape(shape)}, or remove the key"
    return f"write {describe_shape(shape)}"


def _variable_fix(form: str) -> str:
    if form.startswith("${env:") and form.endswith("}"):
        return f"write `${{{form[6:-1]}}}`"
    return "write `${NAME}` or `${NAME:-default}`, or `$${` for a literal `${`"
