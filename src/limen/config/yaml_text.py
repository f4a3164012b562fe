"""Feeds YAML to a document builder event by event, so that nothing is built before its limits are checked.

Refuses tags of its own making and more than one document in a file.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from limen.config.document import BadText, Builder, Mark

if TYPE_CHECKING:
    import yaml

__all__ = ["read_yaml"]

_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "map", "null", "seq"))
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


def read_yaml(text: str, builder: Builder) -> None:
    """Read the one document of a YAML text.

    Raises:
        BadText: the text is not YAML, or more than settings need.
    """
    # Imported here: 25 ms that only those who have a YAML file pay.
    import yaml

    documents = 0
    try:
        for event in _events(text):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise BadText("a second document begins", "keep one document in the file", _mark(event))
            else:
                _feed(event, builder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Mark(mark.line + 1, mark.column + 1) if mark else Mark(1, 1)
        raise BadText(f"not YAML: {error.problem or error.context}", _fix(text, at), at) from error
    except yaml.reader.ReaderError as error:
        at = _find(text, error.character)
        raise BadText("holds a control character", "remove it, or write it as an escape in quotes", at) from error


def _events(text: str) -> Iterator["yaml.Event"]:
    import yaml

    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    # The stubs of PyYAML leave `parse` untyped.
    return yaml.parse(text, Loader=loader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _feed(event: "yaml.Event", builder: Builder) -> None:
    import yaml

    match event:
        case yaml.ScalarEvent():
            # Plain is None in Python's parser and empty in libyaml's.
            is_quoted = _is_text(event.tag, event) or bool(event.style)
            builder.scalar(event.value, _mark(event), is_quoted=is_quoted, anchor=event.anchor)
        case yaml.MappingStartEvent():
            _is_text(event.tag, event)
            builder.open_table(_mark(event), event.anchor)
        case yaml.SequenceStartEvent():
            _is_text(event.tag, event)
            builder.open_items(_mark(event), event.anchor)
        case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
            builder.close()
        case yaml.AliasEvent():
            builder.alias(event.anchor, _mark(event))
        case _:
            pass


def _is_text(tag: str | None, event: "yaml.Event") -> bool:
    """Whether a tag says that the value is text, whatever it looks like."""
    if tag is None or tag in _PLAIN_TAGS:
        return False
    if tag in _TEXT_TAGS:
        return True
    raise BadText("a tag (`!name`) asks for a type that settings do not have", "remove the tag", _mark(event))


def _mark(event: "yaml.Event") -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _find(text: str, character: object) -> Mark:
    offset = max(text.find(chr(character)), 0) if isinstance(character, int) else 0
    return Mark(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _fix(text: str, at: Mark) -> str:
    lines = text.split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "indent with spaces, not tabs"
    return "check the indentation, quotes and brackets on this line and the one before it"
