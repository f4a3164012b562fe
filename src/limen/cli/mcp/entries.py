"""Server entries made of options, and the settings file with them in it. Refuses what could not be read again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from limen.cli.invocation import Invocation
from limen.cli.loading import read_settings
from limen.config.editing.edits import change_entry, find_entry, put_entries, remove_entry
from limen.config.editing.files import FileState, read_state
from limen.config.editing.reading import read_own
from limen.config.entries import SECTIONS, is_server_name
from limen.config.parse import parse
from limen.config.problems import suggest
from limen.config.syntax import Syntax
from limen.config.variables import expand
from limen.errors import ConfigInvalid, Conflict, InvalidArguments, NotFound
from limen.shapes import is_object, items_of, object_of

__all__ = ["Edit", "Entry", "SettingsFile", "open_settings", "pairs", "unset_names"]

Entry = Mapping[str, object]
_ANY_VALUE = "http://placeholder.invalid"
"""Stands for variables that are not set here, so that the rest of an entry can be checked."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A settings file as it is, and as it would be."""

    state: FileState
    text: str
    name: str
    entry: Entry | None
    """What stands under the name afterwards."""


class SettingsFile:
    """The file that the settings are in, or would be in."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._environment = environment
        self._state = read_state(path)
        self._syntax: Syntax
        self._syntax, data = read_own(self._state, path)
        self._section = next((section for section in SECTIONS if data.get(section) is not None), SECTIONS[0])
        self._names = [name for section in SECTIONS for name in object_of(data.get(section))]

    @property
    def names(self) -> Sequence[str]:
        """The servers that are in it."""
        return self._names

    def find(self, name: str) -> Entry | None:
        """What stands under a name, as it is written."""
        found = find_entry(self._state.text, self._syntax, [self._section_of(name)], name, str(self._path))
        return found if is_object(found) else None

    def add(self, name: str, entry: Entry) -> Edit:
        """The file with one more server.

        Raises:
            InvalidArguments: no server can have this name, or the entry cannot be one.
            Conflict: there is one of this name.
        """
        if not is_server_name(name):
            raise InvalidArguments(
                f"NAME: {name!r} cannot be the name of a server", fix="use letters, digits, `-` and single `_`"
            )
        if name in self._names:
            raise Conflict(
                f"a server {name!r} is there already", fix=f"limen mcp update {name}, or choose another name"
            )
        text = put_entries(self._state.text, self._syntax, [self._section], {name: entry}, str(self._path))
        return self._checked(Edit(self._state, text, name, entry))

    def update(self, name: str, changes: Mapping[str, object]) -> Edit:
        """The file with some fields of a server changed, or gone where they are None.

        Raises:
            NotFound: there is no such server.
            InvalidArguments: the entry could not be used.
        """
        section = self._section_of(name)
        present = self.find(name)
        if present is None:
            raise ConfigInvalid(f"`{name}` in {self._path} is no mapping", fix="`limen config edit` opens it")
        text = change_entry(self._state.text, self._syntax, [section], name, changes, str(self._path))
        entry = {key: value for key, value in {**present, **changes}.items() if value is not None}
        return self._checked(Edit(self._state, text, name, entry))

    def remove(self, name: str) -> Edit:
        """The file without a server.

        Raises:
            NotFound: there is no such server.
        """
        section = self._section_of(name)
        return Edit(
            self._state, remove_entry(self._state.text, self._syntax, [section], name, str(self._path)), name, None
        )

    def _section_of(self, name: str) -> str:
        if name not in self._names:
            near = suggest(name, self._names)
            raise NotFound(
                f"{self._path} has no server {name!r}" + (f"; did you mean {near!r}?" if near else ""),
                fix="limen mcp servers",
            )
        for section in SECTIONS:
            if find_entry(self._state.text, self._syntax, [section], name, str(self._path)) is not None:
                return section
        return self._section

    def _checked(self, edit: Edit) -> Edit:
        env = {**dict.fromkeys(unset_names(edit.entry, self._environment), _ANY_VALUE), **self._environment}
        problems = parse(edit.text, str(self._path), env).problems
        wrong = [problem for problem in problems if problem.server == edit.name and problem.severity == "error"]
        if wrong:
            told = "; ".join(problem.message for problem in wrong)
            raise InvalidArguments(f"nothing was changed: {told}", fix=wrong[0].fix)
        return edit


def open_settings(invocation: Invocation) -> SettingsFile:
    """The file that a command would change.

    Raises:
        ConfigInvalid: it cannot be read.
    """
    loaded = read_settings(invocation)
    return SettingsFile(loaded.path or loaded.paths.config_file, invocation.environment)


def pairs(words: Sequence[str], option: str, *, is_placeholder: bool = False) -> dict[str, str]:
    """`NAME=VALUE` words as a mapping; with `is_placeholder`, NAME alone stands for the variable of that name.

    Raises:
        InvalidArguments: a word is something else.
    """
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not name or (not separator and not is_placeholder):
            raise InvalidArguments(f"{option}: {name!r} needs a value", fix=f"write {option} NAME=VALUE", field=option)
        found[name] = value if separator else f"${{{name}}}"
    return found


def unset_names(entry: object, environment: Mapping[str, str]) -> list[str]:
    """The variables that an entry needs and that are not set here."""
    if isinstance(entry, str):
        return list(expand(entry, environment).missing)
    inner = list(entry.values()) if is_object(entry) else items_of(entry)
    return list(dict.fromkeys(name for item in inner for name in unset_names(item, environment)))
