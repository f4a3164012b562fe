"""The door to editing: one entry put in or taken out of a text, and the result read again before anybody gets it."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from limen.config.document import BadText, Mark
from limen.config.editing.jsonedit import put_json, remove_json
from limen.config.editing.tomledit import put_toml, remove_toml
from limen.config.editing.yamledit import change_yaml, put_yaml, remove_yaml
from limen.config.syntax import Syntax, read_plain
from limen.errors import ConfigInvalid
from limen.shapes import is_object

__all__ = ["change_entry", "find_entry", "put_entries", "remove_entry"]


def put_entries(
    text: str, syntax: Syntax, section: Sequence[str], entries: Mapping[str, Mapping[str, object]], file: str
) -> str:
    """The text with these entries in the mapping that `section` leads to; those of the same name are replaced.

    Raises:
        ConfigInvalid: the text cannot be read, or cannot be changed without touching anything else.
    """
    before = _read(text, syntax, file)
    wanted = _with(before, section, entries)
    try:
        new = _with_entries(text, syntax, section, entries, [name for name in entries if name in _at(before, section)])
    except BadText as error:
        raise _bad(error, file) from error
    return _checked(new, syntax, file, wanted)


def remove_entry(text: str, syntax: Syntax, section: Sequence[str], name: str, file: str) -> str:
    """The text without this entry of the mapping that `section` leads to; the same text when it is not there.

    Raises:
        ConfigInvalid: the text cannot be read, or cannot be changed without touching anything else.
    """
    if find_entry(text, syntax, section, name, file) is None:
        return text
    wanted = _with(_read(text, syntax, file), section, {})
    _section(wanted, section).pop(name)
    try:
        new = _removed(text, syntax, section, name)
    except BadText as error:
        raise _bad(error, file) from error
    bare = copy.deepcopy(wanted)
    if syntax == "toml" and not _section(bare, section):
        # A table without a line of its own is gone with the last table beneath it.
        _section(bare, section[:-1]).pop(section[-1])
    return _checked(new, syntax, file, wanted, bare)


def change_entry(  # noqa: PLR0913 - the text, the place in it, and what is wanted there
    text: str, syntax: Syntax, section: Sequence[str], name: str, changes: Mapping[str, object], file: str
) -> str:
    """The text with these fields of one entry set, or gone where they are None; what surrounds them stays.

    Raises:
        ConfigInvalid: the text cannot be read, has no such entry, or cannot be changed safely.
    """
    present = find_entry(text, syntax, section, name, file)
    if not is_object(present):
        raise ConfigInvalid(f"{file} has no entry `{name}` that can be changed", fix="change it by hand", file=file)
    entry = {**present, **changes}
    entry = {key: value for key, value in entry.items() if value is not None}
    wanted = _with(_read(text, syntax, file), section, {name: entry})
    try:
        new = _with_changes(text, syntax, section, name, changes)
    except BadText:
        # Written on one line, or in a syntax without fields of its own: the whole entry is written anew.
        return put_entries(text, syntax, section, {name: entry}, file)
    return _checked(new, syntax, file, wanted)


def _with_changes(text: str, syntax: Syntax, section: Sequence[str], name: str, changes: Mapping[str, object]) -> str:
    if syntax == "toml":
        raise BadText("a table", "write it anew", Mark(1, 1))
    if syntax == "yaml":
        return change_yaml(text, section[0], name, changes)
    for key, value in changes.items():
        path = (*section, name, key)
        text = remove_json(text, path) if value is None else put_json(text, path, value)
    return text


def find_entry(text: str, syntax: Syntax, section: Sequence[str], name: str, file: str) -> object:
    """What stands under this name in the mapping that `section` leads to; None when nothing does.

    Raises:
        ConfigInvalid: the text cannot be read.
    """
    return _at(_read(text, syntax, file), section).get(name)


def _with_entries(
    text: str,
    syntax: Syntax,
    section: Sequence[str],
    entries: Mapping[str, Mapping[str, object]],
    replaced: Sequence[str],
) -> str:
    if syntax == "json":
        for name, entry in entries.items():
            text = put_json(text, (*section, name), entry)
        return text
    for name in replaced:
        text = _removed(text, syntax, section, name)
    if syntax == "yaml":
        return put_yaml(text, section[0], entries)
    for name, entry in entries.items():
        text = put_toml(text, (*section, name), entry)
    return text


def _at(data: object, section: Sequence[str]) -> Mapping[str, object]:
    for key in section:
        data = data.get(key) if is_object(data) else None
    return data if is_object(data) else {}


def _removed(text: str, syntax: Syntax, section: Sequence[str], name: str) -> str:
    match syntax:
        case "json":
            return remove_json(text, (*section, name))
        case "toml":
            return remove_toml(text, (*section, name))
        case "yaml":
            return remove_yaml(text, section[0], name)


def _read(text: str, syntax: Syntax, file: str) -> object:
    try:
        return read_plain(text, syntax)
    except BadText as error:
        raise _bad(error, file) from error


def _bad(error: BadText, file: str) -> ConfigInvalid:
    return ConfigInvalid(f"{file}:{error.at.line}:{error.at.column}: {error}", fix=error.fix, file=file)


def _with(data: object, section: Sequence[str], entries: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    wanted: dict[str, Any] = copy.deepcopy(dict(data)) if is_object(data) else {}
    place = wanted
    for key in section:
        if not is_object(place.get(key)):
            place[key] = {}
        place = place[key]
    place.update(copy.deepcopy(dict(entries)))
    return wanted


def _section(data: dict[str, Any], section: Sequence[str]) -> dict[str, Any]:
    for key in section:
        data = data[key]
    return data


def _checked(new: str, syntax: Syntax, file: str, *wanted: object) -> str:
    """The new text, when it says what was wanted and nothing else."""
    try:
        is_right = read_plain(new, syntax) in wanted
    except BadText:
        is_right = False
    if not is_right:
        raise ConfigInvalid(
            f"{file} is written in a way that cannot be changed safely; nothing was changed",
            fix="make the change by hand",
            file=file,
        )
    return new
