"""Gathers servers from the files of other programs, and plans how they come into the settings. Writes nothing."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from limen.config.editing.edits import put_entries
from limen.config.editing.files import FileState, read_state
from limen.config.editing.reading import read_own
from limen.config.entries import SECTIONS
from limen.config.foreign.formats import FORMATS
from limen.config.foreign.merging import Choice, merge
from limen.config.foreign.places import CLIENTS, find_places
from limen.config.foreign.reading import Circumstances, read_foreign
from limen.config.foreign.records import Reading
from limen.config.foreign.secrets import SecretNames
from limen.config.variables import expand
from limen.errors import ConfigInvalid, InvalidArguments, LimenError, NotFound
from limen.shapes import is_array, is_object

__all__ = ["Gathering", "Plan", "Request", "gather", "plan_import", "unset_variables"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to look at; without paths, every known place, or those of one client."""

    paths: Sequence[Path]
    client: str | None
    everything: bool
    project: Path
    environment: Mapping[str, str]
    own_port: int


@dataclass(frozen=True, slots=True)
class Gathering:
    """What the files hold, and those that could not be read."""

    readings: Sequence[Reading]
    failures: Sequence[LimenError]


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings file as it is, as it would be, and what becomes of each server."""

    state: FileState
    text: str
    choices: Sequence[Choice]

    @property
    def added(self) -> list[Choice]:
        """The servers that are new."""
        return [choice for choice in self.choices if choice.standing == "new"]


def gather(request: Request) -> Gathering:
    """Read every file that was asked for; in known places, one that cannot be read does not stop the others.

    Raises:
        InvalidArguments: there is no such client.
        NotFound: a file that was named is not there.
        ConfigInvalid: a file that was named cannot be read.
    """
    if request.client is not None and request.client not in FORMATS:
        raise InvalidArguments(
            f"{request.client!r} is no client that Limen can read from", fix=f"use one of: {', '.join(FORMATS)}"
        )
    secrets = SecretNames()
    readings: list[Reading] = []
    failures: list[LimenError] = []
    for path, given in _sources(request, secrets):
        try:
            reading = _read(path, given)
        except ConfigInvalid as error:
            if request.paths:
                raise
            failures.append(error)
            continue
        if reading is not None:
            readings.append(reading)
        elif request.paths:
            raise NotFound(f"there is no file {path}", fix="check the path")
    return Gathering(readings, failures)


def plan_import(gathering: Gathering, file: Path) -> Plan:
    """What the settings file becomes.

    Raises:
        ConfigInvalid: it cannot be read, or not be changed safely.
    """
    state = read_state(file)
    syntax, data = read_own(state, file)
    sections = [section for section in SECTIONS if data.get(section) is not None]
    taken = {str(name) for section in sections if is_object(data[section]) for name in data[section]}
    choices = merge(gathering.readings, taken)
    added = {choice.name: choice.found.entry for choice in choices if choice.standing == "new"}
    section = sections[:1] or [next((section for section in SECTIONS if section in data), SECTIONS[0])]
    text = put_entries(state.text, syntax, section, added, str(file)) if added else state.text
    return Plan(state, text, choices)


def unset_variables(entry: object, environment: Mapping[str, str]) -> list[str]:
    """The variables that an entry needs and that are not set; no value is looked at."""
    names: dict[str, None] = {}
    for text in _texts(entry):
        names |= dict.fromkeys(expand(text, environment).missing)
    return list(names)


def _sources(request: Request, secrets: SecretNames) -> Iterator[tuple[Path, Circumstances]]:
    known = find_places(request.environment, request.project)
    if request.paths:
        users = {place.path for place in known if place.scope == "user"}
        sources = [(path, request.client, _project_of(request.project / path, users)) for path in request.paths]
    else:
        wanted = [place for place in known if request.client in {None, place.client.name}]
        sources = [(place.path, place.client.name, place.project) for place in wanted]
    if not sources:
        raise InvalidArguments(f"nobody knows where {request.client} keeps its file", fix="name the file")
    for path, client, project in sources:
        yield (
            path,
            Circumstances(
                format=client,
                project=project,
                here=None if request.everything else request.project,
                own_port=request.own_port,
                secrets=secrets,
            ),
        )


def _project_of(path: Path, users: Container[Path]) -> Path | None:
    """The project whose file this is, by where it lies; `users` are files of the user, which have none."""
    for client in CLIENTS.values():
        for pattern in client.project:
            depth = len(Path(pattern).parts)
            if path.parts[-depth:] == Path(pattern).parts and path not in users:
                return Path(*path.absolute().parts[:-depth])
    return None


def _read(path: Path, given: Circumstances) -> Reading | None:
    state = read_state(path)
    return None if state.data is None else read_foreign(state.text, path, given)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for item in value.values():
            yield from _texts(item)
    elif is_array(value):
        for item in value:
            yield from _texts(item)
