"""From words on a command line to the arguments of a tool: JSON, `key=value`, `key:=json`. Guesses nothing."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from limen.errors import InvalidArguments
from limen.shapes import is_array, is_object, object_of

__all__ = ["parse_object", "parse_words"]


def parse_words(words: Sequence[str], schema: object) -> dict[str, Any]:
    """The arguments that words stand for: one JSON object, or pairs.

    `key:=json` is taken as JSON. `key=value` is text, unless the tool's schema says that it is something else. A key
    that is given several times makes a list where the schema wants one.

    Raises:
        InvalidArguments: a word is neither; the message names it.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return parse_object(words[0], "arguments")
    known = object_of(object_of(schema).get("properties"))
    found: dict[str, Any] = {}
    for word in words:
        key, value = _pair(word, known)
        if key not in found:
            found[key] = value
        elif is_array(found[key]) and "array" in _types(known.get(key)):
            found[key] = [*found[key], *(value if is_array(value) else [value])]
        else:
            raise InvalidArguments(f"{key}: given twice", field=key)
    return found


def parse_object(text: str, field: str) -> dict[str, Any]:
    """A JSON object; nothing is an empty one.

    Raises:
        InvalidArguments: the text is something else.
    """
    if not text.strip():
        return {}
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"{field}: not JSON: {error}", field=field) from error
    if not is_object(value):
        raise InvalidArguments(f'{field}: must be a JSON object, such as {{"text": "hello"}}', field=field)
    return dict(value)


def _pair(word: str, known: Mapping[str, object]) -> tuple[str, Any]:
    left, found, right = word.partition("=")
    key = left.removesuffix(":")
    if not found or not key:
        raise InvalidArguments(
            f"{word!r} is neither JSON nor key=value",
            fix="write key=value, key:=json, or one JSON object in quotes",
        )
    if left.endswith(":"):
        try:
            return key, json.loads(right)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"{key}: {right!r} is not JSON: {error}", field=key) from error
    return key, _typed(key, right, known.get(key))


def _typed(key: str, text: str, wanted: object) -> Any:
    types = _types(wanted)
    if not types or "string" in types:
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if any(_is_of(kind, value) for kind in types):
        return value
    if "array" in types:
        return [_typed(key, text, object_of(wanted).get("items"))]
    raise InvalidArguments(f"{key}: {text!r} is not of type {' or '.join(sorted(types))}", field=key)


def _is_of(kind: str, value: object) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return is_array(value)
        case "object":
            return is_object(value)
        case _:
            return False


def _types(wanted: object) -> frozenset[str]:
    """The JSON types a property may have; none when that cannot be told simply."""
    if not is_object(wanted):
        return frozenset()
    said = wanted.get("type")
    if isinstance(said, str):
        return frozenset({said})
    if is_array(said):
        return frozenset(str(item) for item in said)
    for key in ("anyOf", "oneOf"):
        choices = wanted.get(key)
        if is_array(choices):
            parts = [_types(choice) for choice in choices]
            return frozenset[str]().union(*parts) if all(parts) else frozenset()
    return frozenset()
