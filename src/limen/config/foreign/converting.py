"""One entry of another program, turned into one of Limen: fields, variables, secrets, and Limen's own rules last."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from limen.config.foreign.fields import Draft
from limen.config.foreign.formats import Format
from limen.config.foreign.keys import KEYS
from limen.config.foreign.placeholders import Translation
from limen.config.foreign.secrets import SecretNames, Secrets
from limen.config.parse import parse
from limen.shapes import is_array, is_object

__all__ = ["Refused", "Setting", "convert"]

_STDIO: Final = frozenset({"stdio", "local"})
_HTTP: Final = frozenset({"http", "https", "streamable-http", "streamablehttp", "streamable_http", "remote"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_RUNNERS: Final = frozenset({"uvx", "uv", "pipx"})


class Setting(Struct, frozen=True):
    """What is known about where entries come from."""

    format: Format
    folder: Path | None = None
    """The project they belong to."""
    own_port: int | None = None
    """Where this Limen listens: an address there is itself."""
    secrets: SecretNames = field(default_factory=SecretNames)


class Refused(ValueError):
    """The entry is none that Limen could have; the text says why."""

    def __init__(self, reason: str, *, is_limen: bool = False) -> None:
        super().__init__(reason)
        self.is_limen = is_limen


def convert(name: str, raw: object, setting: Setting) -> tuple[dict[str, object], list[str]]:
    """The entry as Limen writes it, and what to tell its owner.

    Raises:
        Refused: it cannot be one, or is Limen itself.
    """
    if not is_object(raw):
        raise Refused("it is no mapping")
    draft = _draft(raw, setting.format)
    _settle_kind(draft)
    _settle_tools(draft)
    translation = Translation(setting.format.placeholders, setting.folder, draft.notes)
    for key in ("command", "cwd", "url", "args", "env", "headers"):
        if key in draft.fields:
            draft.fields[key] = _each_text(draft.fields[key], translation)
    if _is_limen(draft.fields, setting.own_port):
        raise Refused("it is Limen itself", is_limen=True)
    _settle_folder(draft, setting.folder)
    _move_secrets(name, draft, setting.secrets)
    return _checked(draft), draft.notes


def _is_limen(entry: Mapping[str, object], own_port: int | None) -> bool:
    """Whether an entry starts Limen, or reaches the one of this machine."""
    command, args = entry.get("command"), entry.get("args")
    words = [str(word) for word in args] if is_array(args) else []
    if isinstance(command, str):
        return _program(command) == "limen" or _runs_limen(_program(command), words)
    url = entry.get("url")
    return isinstance(url, str) and own_port is not None and _is_own(url, own_port)


def _runs_limen(program: str, words: Sequence[str]) -> bool:
    """Whether a program is one that starts Limen with these words: an interpreter, or what fetches packages."""
    if ("-m", "limen") in pairwise(words) or (program in _RUNNERS and "limen" in words):
        return True
    return bool(words) and _program(words[0]) == "limen" and "stdio" in words[1:]


def _is_own(url: str, port: int) -> bool:
    try:
        parts = urlsplit(url)
        is_own = parts.hostname in _LOOPBACK and parts.port == port
    except ValueError:
        is_own = False
    return is_own


def _program(path: str) -> str:
    return PurePath(path.replace("\\", "/")).name.removesuffix(".exe").casefold()


def _draft(raw: Mapping[str, object], layout: Format) -> Draft:
    draft = Draft(timeout_unit=layout.timeout_unit)
    flat = dict(raw)
    for key in layout.nested:
        inner = flat.get(key)
        if is_object(inner):
            del flat[key]
            # Some call the program a path inside of `command`.
            renamed = {"command" if name == "path" else name: value for name, value in inner.items()}
            flat = {**renamed, **flat}
    if layout.refuses_command_lists and is_array(flat.get("command")):
        raise Refused("its `command` is a list, which the program it comes from refuses as well")
    for key in (key for key in KEYS if key in flat):
        if flat[key] is not None:
            KEYS[key](draft, key, flat[key])
    for key in (key for key in flat if key not in KEYS):
        draft.note(f"`{key[:60]}` is left out: Limen does not know it")
    return draft


def _settle_kind(draft: Draft) -> None:
    """Decide between program and address, as `type` says where there is one."""
    kind = (draft.kind or "").casefold()
    if kind == "sse":
        draft.fields["transport"] = "sse"
    elif kind and kind not in _STDIO | _HTTP:
        raise Refused(f"it is reached by `{kind[:40]}`, which Limen does not speak")
    if "command" not in draft.fields and "url" not in draft.fields:
        raise Refused("it has neither a program nor an address")
    is_program = "url" not in draft.fields or (kind in _STDIO and "command" in draft.fields)
    if "command" in draft.fields and "url" in draft.fields:
        draft.note(f"it has a program and an address; the {'address' if is_program else 'program'} is left out")
    useless = ("url", "headers", "transport") if is_program else ("command", "args", "env", "cwd", "cli")
    for key in useless:
        dropped = draft.fields.pop(key, None)
        if dropped and key in {"headers", "env", "cwd"}:
            draft.note(f"`{key}` is left out: it has no effect on a server like this")


def _settle_tools(draft: Draft) -> None:
    if draft.fields.get("cli") and "tools" in draft.fields:
        del draft.fields["tools"]
        draft.note("`tools` is left out: Limen makes the tools of a program from its help; see `cli_only`")
    if not draft.excluded:
        return
    tools = draft.fields.get("tools")
    if is_array(tools):
        draft.fields["tools"] = [tool for tool in tools if tool["name"] not in draft.excluded]
    else:
        hidden = ", ".join(draft.excluded)
        draft.note(f"these tools were hidden and now are not: {hidden}; list the others under `tools` to hide them")


def _each_text(value: object, translation: Translation) -> object:
    if isinstance(value, str):
        return translation.text(value)
    if is_object(value):
        return {name: _each_text(item, translation) for name, item in value.items()}
    return [_each_text(item, translation) for item in value] if is_array(value) else value


def _settle_folder(draft: Draft, folder: Path | None) -> None:
    """Programs of a project are started in it; paths that are relative to it stay right that way."""
    cwd = draft.fields.get("cwd")
    if isinstance(cwd, str) and not cwd.startswith(("/", "~", "$")) and not PurePath(cwd).is_absolute():
        del draft.fields["cwd"]
        if folder is None:
            draft.note(f"`cwd` is left out: nobody can tell where `{cwd}` begins")
        else:
            draft.fields["cwd"] = str(folder / cwd)
    if folder is None or "cwd" in draft.fields or "command" not in draft.fields:
        return
    args = draft.fields.get("args")
    words = [str(draft.fields["command"]), *(str(word) for word in args)] if is_array(args) else []
    if any(word in {".", ".."} or word.startswith(("./", "../")) for word in words):
        draft.fields["cwd"] = str(folder)
        draft.note("`cwd` is set to the folder of the project, which paths in it begin from")


def _move_secrets(name: str, draft: Draft, names: SecretNames) -> None:
    secrets = Secrets(name, names)
    movers = {"env": secrets.env, "headers": secrets.headers, "args": secrets.arguments, "url": secrets.url}
    for key, move in movers.items():
        if key in draft.fields:
            # The fields were made by the table of keys, in which each of these has one shape.
            draft.fields[key] = move(draft.fields[key])  # pyright: ignore[reportArgumentType]
    for variable in secrets.moved:
        draft.note(f"a secret is not copied: set the variable {variable} to it")


def _checked(draft: Draft) -> dict[str, object]:
    """The entry in the order of Limen's own fields, when Limen has no complaint about it."""
    order = ("command", "args", "env", "cwd", "cli", "url", "headers", "transport")
    entry = {key: draft.fields[key] for key in order if draft.fields.get(key)}
    entry |= {key: value for key, value in draft.fields.items() if key not in order}
    problems = _problems(entry)
    for key in {path.split(".")[2].partition("[")[0] for path in problems if path.count(".") >= 2}:
        if key in entry and key not in {"command", "url"}:
            del entry[key]
            draft.note(f"`{key}` is left out: {next(why for path, why in problems.items() if f'.{key}' in path)}")
    left = _problems(entry)
    if left:
        raise Refused(next(iter(left.values())))
    return entry


def _problems(entry: Mapping[str, object]) -> dict[str, str]:
    # Switched off, an entry may name variables that are not set.
    text = json.dumps({"servers": {"it": {**entry, "enabled": False}}})
    found = parse(text, "", {"HOME": "/"}).problems
    return {
        problem.path: problem.message.replace("servers.it.", "") for problem in found if problem.severity == "error"
    }
