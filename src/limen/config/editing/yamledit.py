"""Puts entries into one mapping of a YAML file, or takes one out, and leaves every other line as it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from limen.config.document import BadText, Mark
from limen.config.editing.yamlwriting import flow, write_block

if TYPE_CHECKING:
    import yaml

__all__ = ["change_yaml", "put_yaml", "remove_yaml"]

_STEP: Final = 2


class _Place(Struct, frozen=True):
    """A key of a mapping, from the key to behind the last character of its value."""

    key: "yaml.Node"
    value: "yaml.Node"
    start: int
    end: int


def put_yaml(text: str, section: str, entries: Mapping[str, object]) -> str:
    """The text with these entries at the end of the mapping `section`, which is made when there is none.

    Raises:
        BadText: the section is something else, or is given twice.
    """
    import yaml

    newline = "\r\n" if "\r\n" in text else "\n"
    root = _compose(text)
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise BadText("the file is no mapping", "write settings as `key: value` lines", _mark(root))
    place = None if root is None else _find(root, section)
    if place is None:
        return _append(text, root, {section: entries}, newline)
    value = place.value
    if isinstance(value, yaml.MappingNode) and value.value:
        return _extend(text, value, entries, newline)
    if _is_nothing(value, text):
        indent = place.key.start_mark.column + _STEP
        start, end = value.start_mark.index, value.end_mark.index
        text = text[:start].rstrip(" ") + text[end:] if end > start else text
        return _insert_lines(text, place.key.end_mark.index, entries, indent, newline)
    raise BadText(f"`{section}` is no mapping", "write each entry as `name:` with its fields below", _mark(value))


def remove_yaml(text: str, section: str, name: str) -> str:
    """The text without this entry of the mapping `section`; the same text when there is none.

    Raises:
        BadText: it cannot be taken out of where it stands, or is given twice.
    """
    import yaml

    root = _compose(text)
    place = _find(root, section) if isinstance(root, yaml.MappingNode) else None
    if place is None or not isinstance(place.value, yaml.MappingNode):
        return text
    entry = _find(place.value, name)
    if entry is None:
        return text
    if place.value.flow_style:
        raise BadText(f"`{section}` is written on one line", f"remove `{name}` by hand", _mark(entry.key))
    start = text.rfind("\n", 0, entry.start) + 1
    end = _line_end(text, entry.end)
    if len(place.value.value) == 1:
        # Without its only entry the section would hold nothing, which not every program takes for an empty mapping.
        colon = text.index(":", place.key.end_mark.index) + 1
        return text[:colon] + " {}" + text[colon:start] + text[end:]
    return text[:start] + text[end:]


def change_yaml(text: str, section: str, name: str, changes: Mapping[str, object]) -> str:
    """The text with these fields of one entry set, or gone where they are None; comments and order stay.

    Raises:
        BadText: there is no such entry in the mapping `section`, or a field cannot be taken out of where it stands.
    """
    import yaml

    newline = "\r\n" if "\r\n" in text else "\n"
    for key, value in changes.items():
        root = _compose(text)
        place = _find(root, section) if isinstance(root, yaml.MappingNode) else None
        entry = _find(place.value, name) if place and isinstance(place.value, yaml.MappingNode) else None
        if entry is None or not isinstance(entry.value, yaml.MappingNode) or not entry.value.value:
            at = Mark(1, 1) if entry is None else _mark(entry.key)
            raise BadText(f"`{name}` has no fields", "change it by hand", at)
        text = _change_field(text, entry.value, key, value, newline)
    return text


def _change_field(text: str, entry: "yaml.MappingNode", key: str, value: object, newline: str) -> str:
    field = _find(entry, key)
    if entry.flow_style:
        if field is None:
            return text if value is None else _extend(text, entry, {key: value}, newline)
        if value is None:
            raise BadText(f"`{key}` is written on one line with others", "remove it by hand", _mark(field.key))
        return text[: field.start] + flow({key: value})[1:-1] + text[field.end :]
    lines = [] if value is None else write_block(key, value, entry.value[0][0].start_mark.column)
    if field is None:
        return _with_lines(text, _line_end(text, _content_end(entry)), lines, newline)
    if value is None:
        return text[: text.rfind("\n", 0, field.start) + 1] + text[_line_end(text, field.end) :]
    return text[: field.start] + newline.join(lines).lstrip(" ") + text[field.end :]


def _compose(text: str) -> "yaml.Node | None":
    import yaml

    # The parser written in Python: its marks count characters, whatever the text holds. The stubs leave it untyped.
    return yaml.compose(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _find(mapping: "yaml.MappingNode", key: str) -> _Place | None:
    found = [(name, value) for name, value in mapping.value if name.value == key]
    if len(found) > 1:
        raise BadText(f"`{key}` is given twice", "remove one of the two", _mark(found[1][0]))
    if not found:
        return None
    name, value = found[0]
    return _Place(name, value, name.start_mark.index, max(name.end_mark.index, _content_end(value)))


def _content_end(node: "yaml.Node") -> int:
    """Behind the last character of a value; a block's own end is where the next thing begins."""
    import yaml

    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        return max((max(_content_end(key), _content_end(value)) for key, value in node.value), default=0)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        return max((_content_end(item) for item in node.value), default=0)
    return node.end_mark.index


def _is_nothing(node: "yaml.Node", text: str) -> bool:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return not node.value
    written = text[node.start_mark.index : node.end_mark.index]
    return isinstance(node, yaml.ScalarNode) and written in {"", "~", "null", "Null", "NULL"}


def _append(text: str, root: "yaml.MappingNode | None", entries: Mapping[str, object], newline: str) -> str:
    if root is not None and root.flow_style:
        return _extend(text, root, entries, newline)
    lines = [line for key, value in entries.items() for line in write_block(key, value, 0)]
    if root is not None:
        return _with_lines(text, _line_end(text, _content_end(root)), lines, newline)
    return _with_lines(text, len(text), lines, newline)


def _extend(text: str, mapping: "yaml.MappingNode", entries: Mapping[str, object], newline: str) -> str:
    if not mapping.flow_style:
        column = mapping.value[0][0].start_mark.column
        return _insert_lines(text, _content_end(mapping), entries, column, newline)
    end = mapping.end_mark.index - 1
    inside = text[:end].rstrip()
    added = ", ".join(flow({key: value})[1:-1] for key, value in entries.items())
    gap = "" if inside.endswith("{") else " " if inside.endswith(",") else ", "
    return inside + gap + added + text[len(inside) :]


def _insert_lines(text: str, behind: int, entries: Mapping[str, object], indent: int, newline: str) -> str:
    lines = [line for name, value in entries.items() for line in write_block(name, value, indent)]
    return _with_lines(text, _line_end(text, behind), lines, newline)


def _with_lines(text: str, at: int, lines: list[str], newline: str) -> str:
    lead = "" if at == 0 or text[at - 1] in "\n\ufeff" else newline
    return text[:at] + lead + "".join(line + newline for line in lines) + text[at:]


def _line_end(text: str, at: int) -> int:
    """Behind the line break of the line that ends or holds this place."""
    if at > 0 and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _mark(node: "yaml.Node") -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
