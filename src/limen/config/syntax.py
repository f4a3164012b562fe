"""A text in JSON, YAML or TOML as plain data, with the place of what is wrong. Fills in no variables."""

import re
import tomllib
from typing import Final, Literal

import orjson

from limen.config.document import BadText, Builder, Items, Mark, Node, Scalar, Table, is_null
from limen.config.json_text import NotJson, read_json
from limen.config.yaml_text import read_yaml
from limen.shapes import is_array, is_object

__all__ = ["MOST_CHARACTERS", "Syntax", "read_document", "read_plain"]

Syntax = Literal["json", "yaml", "toml"]
"""`json` allows comments and trailing commas."""

MOST_CHARACTERS: Final = 32 << 20
"""Some clients keep their whole history beside their settings."""
_MOST_DEPTH: Final = 100
_WORDS: Final = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?")
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")


def read_plain(text: str, syntax: Syntax) -> object:
    """Mappings, lists, texts, numbers, booleans and None; None for a text that holds nothing.

    Raises:
        BadText: it is not written in this syntax, or is more than any settings.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadText(f"longer than {MOST_CHARACTERS >> 20} MiB", "name the file that holds the servers", Mark(1, 1))
    text = text.removeprefix("\ufeff")
    if syntax == "toml":
        return _read_toml(text)
    if syntax == "json":
        try:
            return _not_too_deep(orjson.loads(text))
        except orjson.JSONDecodeError:
            # With comments perhaps, or with a mistake whose place the slower reader tells.
            pass
    node = read_document(text, syntax).root
    return None if node is None else _plain(node)


def read_document(text: str, syntax: Literal["json", "yaml"]) -> Builder:
    """The tree of a text, with the place of every value and the keys that were given twice.

    Raises:
        BadText: it is not written in this syntax, or is more than any settings.
    """
    text = text.removeprefix("\ufeff")
    document = Builder()
    if syntax == "yaml":
        read_yaml(text, document)
    elif not _is_blank(text):
        read_json(text, document)
    return document


def _is_blank(text: str) -> bool:
    """Whether a JSON text holds nothing but space and comments: the settings of someone who has set nothing."""
    return not re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).strip()


def _read_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        at = Mark(int(place[1]), int(place[2])) if place else Mark(text.count("\n") + 1, 1)
        raise BadText(f"not TOML: {str(error).partition(' (at ')[0]}", "mend what stands here", at) from error
    except RecursionError as error:
        raise BadText("nested too deep", "settings need no more than six levels", Mark(1, 1)) from error


def _not_too_deep(value: object) -> object:
    """The value itself: whoever walks through it must not run out of stack."""
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [item for outer in level for item in _inner(outer)]
        if not level:
            return value
    raise NotJson(f"nested more than {_MOST_DEPTH} levels deep", "settings need no more than six", Mark(1, 1))


def _inner(value: object) -> list[object]:
    if is_object(value):
        return [item for item in value.values() if isinstance(item, (dict, list))]
    return [item for item in value if isinstance(item, (dict, list))] if is_array(value) else []


def _plain(node: Node) -> object:
    match node:
        case Scalar():
            return _scalar(node)
        case Items():
            return [_plain(item) for item in node.items]
        case Table():
            return {item.key: _plain(item.value) for item in node.fields}


def _scalar(node: Scalar) -> object:
    if node.is_quoted:
        return node.text
    if is_null(node):
        return None
    if node.text.casefold() in _WORDS:
        return _WORDS[node.text.casefold()]
    if _INTEGER.fullmatch(node.text):
        return int(node.text)
    return float(node.text) if _FLOAT.fullmatch(node.text) else node.text
