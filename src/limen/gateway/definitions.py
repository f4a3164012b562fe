"""What an upstream says it has: every page of every list, each item as written; what cannot be used is left out."""

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from limen.calls.changes import ListedKind
from limen.errors import MethodNotFound, RemoteError
from limen.protocol import codes
from limen.transport.client import McpClient

__all__ = ["LISTS", "Definitions", "Listed", "read_definitions"]

log = logging.getLogger(__name__)

LISTS: Final[dict[ListedKind, tuple[str, str, str, str]]] = {
    "tool": ("tools/list", "tools", "name", "tools"),
    "resource": ("resources/list", "resources", "uri", "resources"),
    "template": ("resources/templates/list", "resourceTemplates", "uriTemplate", "resources"),
    "prompt": ("prompts/list", "prompts", "name", "prompts"),
}
"""For each kind: the method, the key of the list, the key of an item's name, the capability that announces it."""


class Listed(msgspec.Struct, frozen=True):
    """One item of a list: its own name, and its definition as the server wrote it."""

    name: str
    definition: msgspec.Raw


class Definitions(msgspec.Struct, frozen=True):
    """Everything one upstream offers, at one moment."""

    version: str = ""
    """The revision that was spoken."""
    server: str = ""
    """How the server names itself, with its version."""
    instructions: str = ""
    lists: dict[str, list[Listed]] = {}
    problems: list[str] = []
    """What was left out, and why; for people."""

    def of(self, kind: ListedKind) -> Sequence[Listed]:
        """The items of a kind."""
        return self.lists.get(kind, ())


class _Info(msgspec.Struct, frozen=True):
    name: str = ""
    version: str = ""


class _Greeting(msgspec.Struct, rename="camel"):
    capabilities: dict[str, Any] = {}
    server_info: _Info = _Info()
    instructions: str = ""


async def read_definitions(client: McpClient) -> Definitions:
    """Ask for all lists that the server has.

    Raises:
        LimenError: one that it announced cannot be read.
    """
    greeting = _read_greeting(client.agreement.greeting)
    lists: dict[str, list[Listed]] = {}
    problems: list[str] = []
    for kind in LISTS:
        if LISTS[kind][3] in greeting.capabilities or kind == "tool":
            lists[kind] = await _read_list(client, kind, greeting, problems)
    return Definitions(
        version=client.agreement.version,
        server=f"{greeting.server_info.name} {greeting.server_info.version}".strip(),
        instructions=greeting.instructions,
        lists=lists,
        problems=problems,
    )


def _read_greeting(raw: bytes) -> _Greeting:
    try:
        return msgspec.json.decode(raw, type=_Greeting)
    except msgspec.DecodeError as error:
        # Nothing of it is needed to go on.
        log.info("greeting of an upstream not understood", extra={"reason": str(error)})
        return _Greeting()


async def _read_list(client: McpClient, kind: ListedKind, greeting: _Greeting, problems: list[str]) -> list[Listed]:
    method, key, _, announced = LISTS[kind]
    try:
        items = await (client.list_tools() if kind == "tool" else client.list_all(method, key))
    except RemoteError as error:
        # Many servers announce resources and know no templates; one that announces nothing need not know tools.
        is_lacking = error.rpc_code == codes.METHOD_NOT_FOUND
        if is_lacking and (kind == "template" or announced not in greeting.capabilities):
            return []
        raise
    except MethodNotFound:
        return []
    return _usable(kind, items, problems)


def _usable(kind: ListedKind, items: Sequence[bytes], problems: list[str]) -> list[Listed]:
    found: dict[str, Listed] = {}
    for item in items:
        name, reason = _name_of(kind, item)
        if reason:
            problems.append(f"{kind} {name or '(without a name)'} left out: {reason}")
        elif name in found:
            # A list that changes while it is read may show an item on two pages.
            problems.append(f"{kind} {name} is listed twice; the first counts")
        else:
            found[name] = Listed(name, msgspec.Raw(item))
    return list(found.values())


def _name_of(kind: ListedKind, item: bytes) -> tuple[str, str]:
    """The name of an item, and why it is not offered, if so: for one bad item strict clients drop a whole list."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(item, type=dict[str, Any])
    except msgspec.DecodeError as error:
        return "", f"it is no object ({error})"
    name = fields.get(LISTS[kind][2])
    if not isinstance(name, str) or not name:
        return "", f"its {LISTS[kind][2]} is not a text"
    if kind == "tool" and not isinstance(fields.get("inputSchema"), dict):
        return name, "its inputSchema is no object"
    if kind == "tool" and not isinstance(fields.get("outputSchema", {}), dict):
        return name, "its outputSchema is no object"
    return name, ""
