"""What `limen client` shows: tables and remarks for people, one JSON value for programs. Lets no secret out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from limen.cli.clientimport import Gathering, Plan, unset_variables
from limen.cli.clientinstall import Change, find_installed
from limen.cli.diffs import diff
from limen.cli.invocation import Invocation
from limen.cli.printable import printable
from limen.cli.table import Column, Table
from limen.config.foreign.merging import Choice
from limen.config.foreign.places import CLIENTS, Place
from limen.config.variables import hide_literals
from limen.errors import LimenError
from limen.redact import MASK, redact_value
from limen.shapes import is_object

__all__ = ["Outcome", "place_row", "show_change", "show_places", "show_plan", "tell_change", "tell_import"]

_STANDINGS: Mapping[str, str] = {"new": "new", "exists": "left alone", "same": "seen before"}


def place_row(place: Place, own_port: int) -> dict[str, object]:
    """One file of a client, and whether Limen is in it."""
    row: dict[str, object] = {
        "client": place.client.name,
        "title": place.client.title,
        "scope": place.scope,
        "file": str(place.path),
        "exists": place.path.exists(),
    }
    try:
        name = find_installed(place, own_port)
    except LimenError as error:
        return {**row, "installed": None, "error": str(error)}
    return {**row, "installed": name is not None}


def show_places(invocation: Invocation, rows: list[dict[str, object]]) -> None:
    """The known files as a table."""
    home = invocation.environment
    shown = [{**row, "limen": _installed(row), "file": _near(str(row["file"]), home)} for row in rows]
    columns = (
        Column("CLIENT", "client"),
        Column("SCOPE", "scope"),
        Column("LIMEN", "limen", tones={"installed": "ok", "unreadable": "fail", "no file": "quiet"}),
        Column("FILE", "file", wraps=True, tone="quiet"),
    )
    invocation.output.show(Table(columns, shown))
    for row in rows:
        if "error" in row:
            _remark(invocation, "unreadable", str(row["error"]))


def show_plan(invocation: Invocation, gathering: Gathering, plan: Plan) -> None:
    """What was found, for the person who decides."""
    columns = (
        Column("SERVER", "name"),
        Column("KIND", "kind"),
        Column("", "standing", tones={"new": "ok", "left alone": "quiet", "seen before": "quiet"}),
        Column("FROM", "from", wraps=True, tone="quiet"),
    )
    if plan.choices:
        rows = [
            {
                "name": choice.name,
                "kind": choice.found.kind,
                "standing": _STANDINGS[choice.standing],
                "from": _near(choice.reading.file, invocation.environment),
            }
            for choice in plan.choices
        ]
        invocation.output.show(Table(columns, rows))
    for choice in plan.added:
        for note in _notes(choice, invocation.environment):
            _remark(invocation, choice.name, note)
    for reading in gathering.readings:
        for server in reading.left_out:
            _remark(invocation, server.name, f"not taken from {reading.file}: {server.reason}")
        for note in reading.notes:
            _remark(invocation, reading.file, note)
    for failure in gathering.failures:
        _remark(invocation, "skipped", str(failure))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an import."""

    is_written: bool
    is_dry: bool
    backup: Path | None = None


def tell_import(invocation: Invocation, gathering: Gathering, plan: Plan, outcome: Outcome) -> None:
    """What became of it."""
    file = str(plan.state.path)
    change = diff(plan.state.text, plan.text, file) if outcome.is_dry else None
    if not invocation.output.is_json:
        if change:
            invocation.output.text(change)
        invocation.output.say(_import_line(gathering, plan, file, is_written=outcome.is_written))
        return
    told: dict[str, object] = {
        "file": file,
        "written": outcome.is_written,
        "backup": None if outcome.backup is None else str(outcome.backup),
        "servers": [_choice_row(choice, invocation.environment) for choice in plan.choices],
        "left_out": [
            {"name": server.name, "file": reading.file, "reason": server.reason}
            for reading in gathering.readings
            for server in reading.left_out
        ],
        "files": [
            {"file": reading.file, "format": reading.format, "notes": list(reading.notes)}
            for reading in gathering.readings
        ],
        "failures": [{"code": failure.code, "message": str(failure)} for failure in gathering.failures],
    }
    invocation.output.data(told if change is None else {**told, "diff": change})


def show_change(invocation: Invocation, change: Change) -> None:
    """What would be done to a client, for the person who decides."""
    if change.command:
        invocation.output.text(printable(" ".join(change.command)))
        return
    invocation.output.text(diff(change.state.text, change.text or "", str(change.state.path)))
    if change.restores and not change.text:
        invocation.output.say("the file was not there before Limen, and is removed")


def tell_change(
    invocation: Invocation, change: Change, line: str, *, backup: Path | None = None, is_done: bool = False
) -> None:
    """What became of a client."""
    if not invocation.output.is_json:
        invocation.output.say(printable(line))
        if backup is not None:
            invocation.output.say(f"what was there is kept in {printable(str(backup))}")
        return
    told: dict[str, object] = {
        "client": change.place.client.name,
        "scope": change.place.scope,
        "file": str(change.place.path),
        "changed": is_done,
        "backup": None if backup is None else str(backup),
        "command": list(change.command) or None,
        "entry": redact_value(change.entry),
    }
    if not is_done and not change.is_nothing:
        told["diff"] = diff(change.state.text, change.text or "", str(change.state.path))
    invocation.output.data(told)


def _installed(row: Mapping[str, object]) -> str:
    if not row["exists"]:
        return "no file"
    return "unreadable" if "error" in row else "installed" if row["installed"] else "no"


def _choice_row(choice: Choice, environment: Mapping[str, str]) -> dict[str, object]:
    return {
        "name": choice.name,
        "kind": choice.found.kind,
        "standing": choice.standing,
        "from": choice.reading.format,
        "file": choice.reading.file,
        "entry": {key: _shown(value) for key, value in choice.found.entry.items()},
        "notes": list(_notes(choice, environment)),
    }


def _shown(value: object) -> object:
    """A field of an entry as it will be written; what is no placeholder under the name of a secret is masked."""
    if not is_object(value):
        return redact_value(value)
    texts = {key: str(item) for key, item in value.items()}
    masked = redact_value(texts)
    assert is_object(masked), "a mapping stays one"
    return {key: masked[key] if MASK in hide_literals(text, MASK) else text for key, text in texts.items()}


def _near(path: str, environment: Mapping[str, str]) -> str:
    """A path as people write it, from their home."""
    home = environment.get("HOME", "").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def _notes(choice: Choice, environment: Mapping[str, str]) -> Iterator[str]:
    if choice.name != choice.found.name:
        yield f"another server is called `{choice.found.name}`, so this one is numbered"
    yield from choice.found.notes
    unset = unset_variables(choice.found.entry, environment)
    if unset:
        yield f"it needs variables that are not set here: {', '.join(unset)}"


def _import_line(gathering: Gathering, plan: Plan, file: str, *, is_written: bool) -> str:
    if not gathering.readings and not gathering.failures:
        known = ", ".join(client.title for client in CLIENTS.values() if client.shape)
        return f"no file of a known client is here ({known}); name one, or see `limen client list`"
    if not plan.added:
        return "there is nothing to add"
    count = f"{len(plan.added)} server{'' if len(plan.added) == 1 else 's'}"
    return f"{count} added to {file}" if is_written else f"{count} would be added to {file}"


def _remark(invocation: Invocation, about: str, note: str) -> None:
    invocation.output.say(f"{invocation.output.paint(printable(about) + ':', 'warn')} {printable(note)}")
