"""What a registry says about a server (`server.json`), in its camelCase and in its older snake_case."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from limen.errors import UpstreamError
from limen.shapes import is_array, is_object

__all__ = ["Argument", "Input", "KeyValue", "Listed", "Package", "Remote", "ServerRecord", "Transport", "read_record"]

_SNAKE = re.compile(r"_([a-z0-9])")
_VERBATIM = frozenset({"variables", "_meta"})
"""What stands below these are names that somebody chose, and no fields."""


class Input(Struct, frozen=True, rename="camel"):
    """A value that is fixed, or that whoever installs the server must give."""

    value: str | None = None
    default: Any = None
    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    variables: dict[str, "Input"] = {}
    """What stands for `{name}` in the value."""


class KeyValue(Input, frozen=True, rename="camel", kw_only=True):
    """An environment variable, or a header."""

    name: str


class Argument(Input, frozen=True, rename="camel", kw_only=True):
    """A word of a command line."""

    type: str = "positional"
    name: str = ""
    value_hint: str = ""
    is_repeated: bool = False


class Transport(Struct, frozen=True, rename="camel"):
    """How a package is spoken to once it runs."""

    type: str = "stdio"
    url: str = ""


class Package(Struct, frozen=True, rename="camel"):
    """A program that can be fetched and started."""

    identifier: str
    registry_type: str = ""
    version: str = ""
    runtime_hint: str = ""
    runtime_arguments: list[Argument] = []
    package_arguments: list[Argument] = []
    environment_variables: list[KeyValue] = []
    transport: Transport = Transport()


class Remote(Struct, frozen=True, rename="camel"):
    """A server that is reached over HTTP."""

    type: str = ""
    url: str = ""
    headers: list[KeyValue] = []
    variables: dict[str, Input] = {}


class _Repository(Struct, frozen=True):
    url: str = ""


class ServerRecord(Struct, frozen=True, rename="camel"):
    """One version of a server."""

    name: str
    description: str = ""
    version: str = ""
    title: str = ""
    status: str = ""
    repository: _Repository | None = None
    website_url: str = ""
    packages: list[Package] | None = None
    remotes: list[Remote] | None = None


class Listed(Struct, frozen=True):
    """A record, and whether its registry still stands by it."""

    server: ServerRecord
    status: str = "active"


def read_record(data: object) -> Listed:
    """A server as a registry answers it: wrapped with what the registry says about it, or bare.

    Raises:
        UpstreamError: it is something else.
    """
    fields = _camel(data)
    try:
        if is_object(fields) and is_object(fields.get("server")):
            record = msgspec.convert(fields["server"], ServerRecord)
            return Listed(record, _status(fields.get("_meta")) or record.status or "active")
        record = msgspec.convert(fields, ServerRecord)
    except msgspec.ValidationError as error:
        raise UpstreamError(f"the registry answered what is no server: {error}") from error
    return Listed(record, record.status or "active")


def _status(meta: object) -> str:
    """What a registry says about a record, under a name of its own choice."""
    for said in meta.values() if is_object(meta) else ():
        if is_object(said) and isinstance(said.get("status"), str):
            return said["status"]
    return ""


def _camel(value: object) -> object:
    if is_object(value):
        return {
            _renamed(key): {name: _camel(item) for name, item in inner.items()}
            if key in _VERBATIM and is_object(inner)
            else _camel(inner)
            for key, inner in value.items()
        }
    return [_camel(item) for item in value] if is_array(value) else value


def _renamed(key: str) -> str:
    return key if key.startswith(("_", "$")) else _SNAKE.sub(lambda found: found[1].upper(), key)
