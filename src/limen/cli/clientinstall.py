"""Puts Limen into a client and takes it out again: by the client's own command where there is one, else in its file."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limen.cli.clientprograms import Program, find_program
from limen.config.editing.edits import find_entry, put_entries, remove_entry
from limen.config.editing.files import (
    FileState,
    find_kept,
    keep,
    missing_folders,
    read_state,
    restore,
    write_state,
)
from limen.config.foreign.places import CLIENTS, NAME, Place, Scope, find_places
from limen.config.foreign.reading import Circumstances, read_foreign
from limen.errors import ConfigInvalid, Conflict, InvalidArguments, LimenError, NotFound
from limen.shapes import is_array, is_object

__all__ = [
    "Change",
    "apply_install",
    "apply_uninstall",
    "find_installed",
    "find_place",
    "limen_words",
    "plan_install",
    "plan_uninstall",
]


@dataclass(frozen=True, slots=True)
class Change:
    """What would be done to a client; nothing is when neither `text` nor `command` is given."""

    place: Place
    state: FileState
    text: str | None = None
    """What its file says afterwards."""
    entry: Mapping[str, object] | None = None
    program: Program | None = None
    command: Sequence[str] = ()
    """The client's own command that does it."""
    restores: bool = False
    """Whether the file becomes what it was before Limen, to the byte."""

    @property
    def is_nothing(self) -> bool:
        """Whether all is as it should be already."""
        return self.text is None and not self.command and not self.restores


def find_place(name: str, scope: Scope, environment: Mapping[str, str], project: Path) -> Place:
    """The file of a client that is meant.

    Raises:
        InvalidArguments: there is no such client.
        NotFound: it keeps no servers there.
    """
    known = [client.name for client in CLIENTS.values() if client.shape]
    if name not in known:
        raise InvalidArguments(f"{name!r} is no client that Limen knows", fix=f"use one of: {', '.join(known)}")
    for place in find_places(environment, project):
        if place.client.name == name and place.scope == scope:
            return place
    raise NotFound(f"{CLIENTS[name].title} keeps no servers by {scope} here", fix="leave out --scope")


def limen_words(environment: Mapping[str, str]) -> list[str]:
    """The command that starts Limen for a client: its bare name when every shell finds it, else the whole path.

    Raises:
        NotFound: there is no `limen` program.
    """
    if shutil.which(NAME, path=environment.get("PATH")):
        return [NAME, "stdio"]
    for candidate in (Path(sys.argv[0]), Path(sys.executable).with_name(NAME)):
        if candidate.stem == NAME and candidate.is_file():
            return [str(candidate.absolute()), "stdio"]
    raise NotFound("the program `limen` is not on the PATH", fix="install Limen so that it is")


def find_installed(place: Place, own_port: int) -> str | None:
    """The name under which Limen is in a client; None when it is not.

    Raises:
        ConfigInvalid: the client's file cannot be read.
    """
    state = read_state(place.path)
    if state.data is None:
        return None
    given = Circumstances(
        format=place.client.name, project=place.project, here=place.project or Path.cwd(), own_port=own_port
    )
    reading = read_foreign(state.text, place.path, given)
    return next((server.name for server in reading.left_out if server.is_limen), None)


def plan_install(place: Place, environment: Mapping[str, str], own_port: int) -> Change:
    """What it takes to have Limen in a client.

    Raises:
        ConfigInvalid: its file cannot be read, or not be changed safely.
        Conflict: another server has Limen's name there.
    """
    words = limen_words(environment)
    assert place.client.shape is not None, "find_place gives no other"
    entry = place.client.shape(words)
    state = read_state(place.path)
    name = find_installed(place, own_port)
    there = _find(place, state)
    if name is not None and (name != NAME or _starts(there) == words):
        return Change(place, state, entry=entry)
    if there is not None and name is None:
        raise Conflict(
            f"another server is called `{NAME}` in {place.path}", fix="rename it there, then install Limen again"
        )
    text = _with_entry(place, state, entry)
    program = find_program(place, environment) if there is None else None
    return Change(place, state, text, entry, program, program.adding(words) if program else ())


def plan_uninstall(place: Place, environment: Mapping[str, str], own_port: int) -> Change:
    """What it takes to have no Limen in a client, under whatever name it is there.

    Raises:
        ConfigInvalid: its file cannot be read, or not be changed safely.
    """
    state = read_state(place.path)
    kept = find_kept(state)
    if kept is not None:
        return Change(place, state, (kept.data or b"").decode(), restores=True)
    name = find_installed(place, own_port)
    if name is None or _find(place, state, name) is None:
        return Change(place, state)
    text = _without_entry(place, state, name)
    program = find_program(place, environment) if name == NAME else None
    return Change(place, state, text, None, program, program.removing() if program else ())


def apply_install(change: Change) -> tuple[Path | None, str | None]:
    """Do what was planned; where what was there is kept, and why the client's own command did not do it.

    Raises:
        LimenError: it could not be done.
    """
    place, failure = change.place, None
    folders = missing_folders(change.state.path)
    if change.program is not None:
        failure = change.program.run(change.command)
        after = read_state(place.path)
        if _find(place, after) is not None:
            # A file that its own command made holds more than Limen, so it is not for Limen to remove.
            is_new = change.state.data is None
            return None if is_new else keep(change.state, after.data or b"", folders), None
        failure = failure or "it did not add anything to the file"
        change = _again(change, after)
    assert change.text is not None, "only what changes something is done"
    written = change.text.encode()
    earlier = find_kept(change.state)
    if earlier is not None:
        base = FileState(change.state.path, earlier.data, change.state.mode)
        kept = keep(base, written, earlier.folders)
    else:
        # An entry of somebody else's making must not come back when Limen is taken out.
        kept = keep(change.state, written, folders, is_copy=_find(place, change.state) is not None)
    try:
        write_state(change.state, written)
    except LimenError:
        kept.unlink(missing_ok=True)
        raise
    if earlier is not None and earlier.path != kept:
        earlier.path.unlink(missing_ok=True)
    return kept, failure


def apply_uninstall(change: Change) -> str | None:
    """Do what was planned; why the client's own command did not do it.

    Raises:
        LimenError: it could not be done.
    """
    place, kept = change.place, find_kept(change.state)
    if change.restores and kept is not None:
        restore(change.state, kept)
        return None
    failure = None
    if change.program is not None:
        failure = change.program.run(change.command)
        after = read_state(place.path)
        if _find(place, after) is None:
            return None
        failure = failure or "it did not remove anything from the file"
        write_state(after, _without_entry(place, after).encode())
        return failure
    assert change.text is not None, "only what changes something is done"
    keep(change.state, change.text.encode(), is_copy=True)
    write_state(change.state, change.text.encode())
    return None


def _again(change: Change, state: FileState) -> Change:
    """The same change to the file as it is by now."""
    assert change.entry is not None, "an installation has one"
    return Change(change.place, state, _with_entry(change.place, state, change.entry), change.entry)


def _find(place: Place, state: FileState, name: str = NAME) -> object:
    """What stands under Limen's name in a client's file."""
    return find_entry(state.text, place.client.syntax, place.client.section, name, str(place.path))


def _with_entry(place: Place, state: FileState, entry: Mapping[str, object]) -> str:
    """The client's file with Limen in it; when that cannot be, the error shows what to write there by hand."""
    try:
        return put_entries(state.text, place.client.syntax, place.client.section, {NAME: entry}, str(place.path))
    except ConfigInvalid as error:
        where = ".".join((*place.client.section, NAME))
        error.facts["fix"] = f"make the change by hand: {where} is {json.dumps(entry)}"
        raise


def _without_entry(place: Place, state: FileState, name: str = NAME) -> str:
    return remove_entry(state.text, place.client.syntax, place.client.section, name, str(place.path))


def _starts(entry: object) -> list[str]:
    """The words that an entry starts its program with."""
    found: Mapping[str, Any] = entry if is_object(entry) else {}
    command, args = found.get("command", found.get("cmd")), found.get("args")
    first: Sequence[Any] = command if is_array(command) else [command]
    rest: Sequence[Any] = args if is_array(args) else []
    return [str(word) for word in (*first, *rest)]
