"""A form that a server wants filled in, asked field by field. What the schema does not allow is asked again."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from limen.cli.printable import printable
from limen.shapes import is_array, is_object, items_of, object_of

__all__ = ["Cancelled", "check_field", "describe_field", "fill_form"]

Asks = Callable[[str], Awaitable[str | None]]
_YES = frozenset({"y", "yes", "true", "1"})
_NO = frozenset({"n", "no", "false", "0"})


class Cancelled(Exception):
    """The person went away in the middle of it."""


async def fill_form(schema: object, ask: Asks, say: Callable[[str], None]) -> dict[str, Any]:
    """The values of a form, by field.

    Raises:
        Cancelled: the input ended.
    """
    form = object_of(schema)
    required = items_of(form.get("required"))
    values: dict[str, Any] = {}
    for name, field in object_of(form.get("properties")).items():
        found = await _ask_field(name, object_of(field), ask, say, is_required=name in required)
        if found is not None:
            values[name] = found[0]
    return values


async def _ask_field(
    name: str, shape: Mapping[str, Any], ask: Asks, say: Callable[[str], None], *, is_required: bool
) -> tuple[Any] | None:
    while True:
        said = await ask(f"  {describe_field(name, shape, is_required=is_required)}")
        if said is None:
            raise Cancelled
        if not said:
            if "default" in shape:
                return (shape["default"],)
            if not is_required:
                return None
            say(f"  {printable(name)} is needed")
            continue
        try:
            return (check_field(said, shape),)
        except ValueError as error:
            say(f"  {printable(str(error))}")


def describe_field(name: str, shape: Mapping[str, Any], *, is_required: bool) -> str:
    """What is asked for, what may be answered, and what Enter alone means."""
    title = shape.get("title") or name
    told = f"{title}: {shape['description']}" if shape.get("description") else str(title)
    choices = _choices(shape)
    if choices:
        told += " (" + ", ".join(_labels(choices)) + (", several with commas" if _is_many(shape) else "") + ")"
    elif shape.get("type") == "boolean":
        told += " (yes, no)"
    elif shape.get("type") in ("integer", "number"):
        told += f" ({shape['type']})"
    if "default" in shape:
        told += f" [{json.dumps(shape['default'], ensure_ascii=False)}]"
    return printable(told) + ("" if is_required or "default" in shape else " (may be left empty)")


def check_field(text: str, shape: Mapping[str, Any]) -> Any:
    """What was typed, as the field wants it.

    Raises:
        ValueError: it cannot be that; the message is for people.
    """
    choices = _choices(shape)
    if choices and _is_many(shape):
        return [_chosen(part.strip(), choices) for part in text.split(",") if part.strip()]
    if choices:
        return _chosen(text, choices)
    match shape.get("type"):
        case "boolean":
            if text.casefold() not in _YES | _NO:
                raise ValueError("answer yes or no")
            return text.casefold() in _YES
        case "integer":
            return _bounded(_number(text, int, "a whole number"), shape)
        case "number":
            return _bounded(_number(text, float, "a number"), shape)
        case _:
            return _text(text, shape)


def _number(text: str, kind: type[int] | type[float], noun: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"that is not {noun}") from None


def _bounded(value: float, shape: Mapping[str, Any]) -> float:
    if "minimum" in shape and value < shape["minimum"]:
        raise ValueError(f"at least {shape['minimum']}")
    if "maximum" in shape and value > shape["maximum"]:
        raise ValueError(f"at most {shape['maximum']}")
    return value


def _text(text: str, shape: Mapping[str, Any]) -> str:
    if len(text) < shape.get("minLength", 0):
        raise ValueError(f"at least {shape['minLength']} characters")
    if "maxLength" in shape and len(text) > shape["maxLength"]:
        raise ValueError(f"at most {shape['maxLength']} characters")
    return text


def _is_many(shape: Mapping[str, Any]) -> bool:
    return shape.get("type") == "array"


def _choices(shape: Mapping[str, Any]) -> dict[str, str]:
    """What may be chosen, each with what it is called."""
    inner = object_of(shape.get("items")) if _is_many(shape) else shape
    values = inner.get("enum")
    if is_array(values):
        names = inner.get("enumNames")
        titles = list(names) if is_array(names) and len(names) == len(values) else list(values)
        return {str(value): str(title) for value, title in zip(values, titles, strict=True)}
    for key in ("oneOf", "anyOf"):
        options = inner.get(key)
        if is_array(options):
            return {
                str(option["const"]): str(option.get("title", option["const"]))
                for option in options
                if is_object(option) and "const" in option
            }
    return {}


def _labels(choices: Mapping[str, str]) -> list[str]:
    return [value if title == value else f"{value} = {title}" for value, title in choices.items()]


def _chosen(text: str, choices: Mapping[str, str]) -> str:
    by_name = {**{title.casefold(): value for value, title in choices.items()}, **{c.casefold(): c for c in choices}}
    try:
        return by_name[text.casefold()]
    except KeyError:
        raise ValueError(f"choose one of: {', '.join(choices)}") from None
