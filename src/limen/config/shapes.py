"""What the model allows in one place, read from its types: in words for people, and as a check of one written value."""

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import PurePath
from typing import TypeAlias

from msgspec import inspect, structs

from limen.clock import parse_duration_s

__all__ = ["Shape", "bare", "describe_shape", "description", "is_optional", "parse_scalar"]

Shape: TypeAlias = inspect.Type

_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_WHOLE = re.compile(r"[+-]?[0-9][0-9_]{0,30}")
_DURATION_EXAMPLE = "a duration such as 90s, 5m or 2h"


def bare(shape: Shape) -> Shape:
    """The shape without its notes and without `None`."""
    match shape:
        case inspect.Metadata():
            return bare(shape.type)
        case inspect.UnionType():
            options = _options(shape)
            return bare(options[0]) if len(options) == 1 else shape
        case _:
            return shape


def is_optional(shape: Shape) -> bool:
    """Whether `None` is allowed."""
    match shape:
        case inspect.Metadata():
            return is_optional(shape.type)
        case inspect.UnionType():
            return shape.includes_none
        case _:
            return False


def description(shape: Shape) -> str:
    """The line of the model that describes it."""
    if not isinstance(shape, inspect.Metadata):
        return ""
    schema: dict[str, object] | None = structs.asdict(shape)["extra_json_schema"]
    return str((schema or {}).get("description", ""))


def describe_shape(shape: Shape, note: Mapping[str, object] | None = None) -> str:
    """What may be written here, as the end of a sentence that begins with "must be"."""
    note = note or {}
    match shape:
        case inspect.Metadata():
            return describe_shape(shape.type, {**_note(shape), **note})
        case inspect.UnionType():
            return " or ".join(describe_shape(option) for option in _options(shape))
        case inspect.VarTupleType():
            return f"a list, each item {describe_shape(shape.item_type)}"
        case inspect.DictType() | inspect.StructType():
            return "a mapping of keys to values"
        case _:
            return f"{note['noun']}{_such_as(note)}" if "noun" in note else _describe_single(shape, note.get("kind"))


def _describe_single(shape: Shape, kind: object) -> str:
    match shape:
        case inspect.LiteralType():
            return _either([f"`{value}`" for value in shape.values])
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return f"a whole number{_bounds(shape)}"
        case inspect.FloatType():
            return _DURATION_EXAMPLE if kind == "duration" else f"a number{_bounds(shape)}"
        case inspect.StrType():
            return "an absolute path, or one that begins with ~/" if kind == "folder" else _text(shape)
        case _:
            raise NotImplementedError(f"the model uses {shape!r}, which settings files cannot express")


def parse_scalar(
    shape: Shape, text: str, *, home: str | None = None, note: Mapping[str, object] | None = None
) -> object:
    """The value that a written text stands for in a place of this shape; `home` is what `~` means.

    Raises:
        ValueError: the text is nothing that may stand there.
    """
    note = note or {}
    match shape:
        case inspect.Metadata():
            return parse_scalar(shape.type, text, home=home, note={**_note(shape), **note})
        case inspect.UnionType():
            return _first_of(shape, text, home)
        case inspect.LiteralType():
            return _choice(shape, text)
        case inspect.BoolType():
            return _flag(text)
        case inspect.IntType():
            return _within(shape, _whole(text))
        case inspect.FloatType():
            return _within(shape, parse_duration_s(text) if note.get("kind") == "duration" else float(text))
        case inspect.StrType():
            return _folder(text, home) if note.get("kind") == "folder" else _matching(shape, text)
        case _:
            raise ValueError("a single value cannot stand here")


def _options(shape: inspect.UnionType) -> list[Shape]:
    return [option for option in shape.types if not isinstance(option, inspect.NoneType)]


def _note(shape: inspect.Metadata) -> dict[str, object]:
    extra: dict[str, object] | None = structs.asdict(shape)["extra"]
    return extra or {}


def _such_as(note: Mapping[str, object]) -> str:
    return f" such as {note['example']}" if "example" in note else ""


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _bounds(shape: inspect.IntType | inspect.FloatType) -> str:
    if shape.ge is not None and shape.le is not None:
        return f" from {shape.ge} to {shape.le}"
    return f" of at least {shape.ge}" if shape.ge is not None else ""


def _text(shape: inspect.StrType) -> str:
    return "text that is not empty" if shape.min_length else "text"


def _first_of(shape: inspect.UnionType, text: str, home: str | None) -> object:
    for option in _options(shape):
        try:
            return parse_scalar(option, text, home=home)
        except ValueError:
            # The next option may fit; when none does, the caller says what would.
            continue
    raise ValueError("fits none of the options")


def _choice(shape: inspect.LiteralType, text: str) -> object:
    for value in shape.values:
        if str(value).casefold() == text.strip().casefold():
            return value
    raise ValueError("not one of the choices")


def _flag(text: str) -> bool:
    word = text.strip().casefold()
    if word not in _TRUE | _FALSE:
        raise ValueError("neither true nor false")
    return word in _TRUE


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError("not a whole number")
    return int(text.replace("_", ""))


def _within(shape: inspect.IntType | inspect.FloatType, value: float) -> float:
    inside = (
        isfinite(value)
        and (shape.ge is None or value >= shape.ge)
        and (shape.gt is None or value > shape.gt)
        and (shape.le is None or value <= shape.le)
        and (shape.lt is None or value < shape.lt)
    )
    if not inside:
        raise ValueError("out of bounds")
    return value


def _matching(shape: inspect.StrType, text: str) -> str:
    # No program, header, address or name can hold a NUL; far from here it would be an obscure failure.
    if "\0" in text or len(text.strip()) < (shape.min_length or 0):
        raise ValueError("empty, or holds a NUL")
    if shape.pattern is not None and not re.fullmatch(shape.pattern, text):
        raise ValueError("does not look as it must")
    return text


def _folder(text: str, home: str | None) -> str:
    if home is not None and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    if "\0" in text or not PurePath(text).is_absolute():
        raise ValueError("not an absolute path")
    return text
