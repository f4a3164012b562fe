"""MCPB bundles: what their manifest says, and the entry by which the program in them is started."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from limen.errors import InvalidArguments, Unreadable
from limen.gateway.registry.placeholders import Draft, literal, variable_name
from limen.gateway.registry.records import Input
from limen.gateway.registry.unpacking import MANIFEST, digest_of, read_member, unpack
from limen.shapes import is_array, items_of, object_of

__all__ = ["Bundle", "draft_bundle", "open_bundle"]

MANIFEST_BYTES: Final = 1 << 20
_NAME: Final = re.compile(r"[^A-Za-z0-9.-]+")
_SLOT: Final = re.compile(r"\$\{([^{}]*)\}")
_FOLDERS: Final = {
    "HOME": "${HOME}",
    "DESKTOP": "${HOME}/Desktop",
    "DOCUMENTS": "${HOME}/Documents",
    "DOWNLOADS": "${HOME}/Downloads",
    "/": "/",
    "pathSeparator": "/",
}
_STARTERS: Final[Mapping[str, Sequence[str]]] = {"node": ("node",), "python": ("python3",), "binary": ()}


class _Launch(Struct, frozen=True):
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    platform_overrides: dict[str, Any] = {}


class _Server(Struct, frozen=True):
    type: str
    entry_point: str = ""
    mcp_config: _Launch | None = None


class _Asked(Struct, frozen=True):
    """A value that whoever installs the bundle must give."""

    type: str = "string"
    title: str = ""
    description: str = ""
    required: bool = False
    default: Any = None
    sensitive: bool = False
    multiple: bool = False


class _Manifest(Struct, frozen=True):
    name: str
    version: str
    server: _Server
    description: str = ""
    display_name: str = ""
    user_config: dict[str, _Asked] = {}
    compatibility: dict[str, Any] = {}


class Bundle(Struct, frozen=True):
    """A bundle that was looked into, and where it is unpacked to."""

    file: Path
    manifest: _Manifest
    folder: Path

    def unpack(self) -> None:
        """Put its files where its entry says they are; what is there already is the same.

        Raises:
            Unreadable: it is damaged, or holds what must not be unpacked.
            FileTooLarge: it holds more than is unpacked.
        """
        if not self.folder.is_dir():
            unpack(self.file, self.folder)


def open_bundle(file: Path, home: Path) -> Bundle:
    """Look into a bundle; `home` is the folder that bundles are unpacked in.

    Raises:
        NotFound: there is no such file.
        Unreadable: it is no bundle.
        FileTooLarge: it is beyond what is opened.
    """
    digest = digest_of(file)
    raw = read_member(file, MANIFEST, MANIFEST_BYTES)
    try:
        manifest = msgspec.json.decode(raw, type=_Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(f"{MANIFEST} in {file} cannot be used: {error}") from error
    # The digest makes it a folder of this very file, whatever it calls itself.
    name = _NAME.sub("-", manifest.name)[:48].strip("-.") or "bundle"
    return Bundle(file, manifest, home / f"{name}-{digest[:16]}")


def draft_bundle(bundle: Bundle, prefix: str) -> Draft:
    """An entry that starts what is in the bundle.

    Raises:
        InvalidArguments: it cannot be started here; the message says why.
    """
    draft = Draft()
    launch = _launch(bundle)
    words = [word for text in launch.args for word in _words(draft, text, bundle, prefix)]
    draft.entry = {"command": _filled(draft, launch.command, bundle, prefix), "args": words}
    env = {name: _filled(draft, value, bundle, prefix) for name, value in launch.env.items()}
    if env:
        draft.entry["env"] = env
    platforms = items_of(bundle.manifest.compatibility.get("platforms"))
    if platforms and sys.platform not in platforms:
        draft.notes.append(f"it says that it runs on {', '.join(map(str, platforms))}, and not on {sys.platform}")
    return draft


def _launch(bundle: Bundle) -> _Launch:
    server = bundle.manifest.server
    given = server.mcp_config or _Launch()
    other = object_of(given.platform_overrides.get(sys.platform))
    command = str(other.get("command", given.command))
    args = [str(word) for word in items_of(other.get("args", given.args))]
    env = {**given.env, **{str(name): str(value) for name, value in object_of(other.get("env")).items()}}
    if command:
        return _Launch(command, args, env)
    if not server.entry_point:
        raise InvalidArguments("its manifest does not say how it is started")
    entry = f"${{__dirname}}/{server.entry_point}"
    if server.type == "uv":
        return _Launch("uv", ["run", "--directory", "${__dirname}", server.entry_point], env)
    starter = _STARTERS.get(server.type)
    if starter is None:
        raise InvalidArguments(f"servers of the type {server.type!r} cannot be started from here")
    words = [*starter, entry]
    return _Launch(words[0], words[1:], env)


def _words(draft: Draft, text: str, bundle: Bundle, prefix: str) -> list[str]:
    """An argument; one that is only a value which may be given many times becomes as many as its default has."""
    alone = _SLOT.fullmatch(text)
    key = alone[1].removeprefix("user_config.") if alone else ""
    asked = bundle.manifest.user_config.get(key)
    if asked is not None and asked.multiple and is_array(asked.default):
        return [_with_folders(str(item)) for item in asked.default]
    if asked is not None and not asked.required and asked.default is None:
        return []
    return [_filled(draft, text, bundle, prefix)]


def _filled(draft: Draft, text: str, bundle: Bundle, prefix: str) -> str:
    parts: list[str] = []
    at = 0
    for found in _SLOT.finditer(text):
        parts += [literal(text[at : found.start()]), _value(draft, found[1], bundle, prefix)]
        at = found.end()
    return "".join([*parts, literal(text[at:])])


def _with_folders(text: str) -> str:
    """A default, in which a manifest may name folders of the user and nothing else."""
    parts: list[str] = []
    at = 0
    for found in _SLOT.finditer(text):
        if found[1] in _FOLDERS:
            parts += [literal(text[at : found.start()]), _FOLDERS[found[1]]]
            at = found.end()
    return "".join([*parts, literal(text[at:])])


def _value(draft: Draft, name: str, bundle: Bundle, prefix: str) -> str:
    if name == "__dirname":
        return literal(str(bundle.folder))
    if name in _FOLDERS:
        return _FOLDERS[name]
    asked = bundle.manifest.user_config.get(name.removeprefix("user_config."))
    if asked is None or not name.startswith("user_config."):
        # A variable that the manifest may not read, or a slip in it.
        return literal(f"${{{name}}}")
    key = name.removeprefix("user_config.")
    if asked.default is not None and not is_array(asked.default):
        return _with_folders(str(asked.default).lower() if isinstance(asked.default, bool) else str(asked.default))
    if not asked.required:
        return ""
    told = asked.description or asked.title
    return draft.need(variable_name(prefix, key), Input(description=told, is_secret=asked.sensitive))
