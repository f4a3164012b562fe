"""All capabilities of all upstreams under the names clients see; rebuilt for the one upstream that changed."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from limen.calls.call import Capability, Kind
from limen.calls.changes import ListedKind
from limen.config.model import ServerEntry, ToolEntry
from limen.gateway.definitions import LISTS, Definitions, Listed
from limen.gateway.names import SEPARATOR, exposed_name, exposed_uri
from limen.gateway.upstream import Upstream
from limen.protocol import uritemplates

__all__ = ["Catalog", "Route"]

log = logging.getLogger(__name__)

KINDS: tuple[ListedKind, ...] = ("tool", "resource", "template", "prompt")


class Route(Struct, frozen=True):
    """Where a capability leads: to an upstream, under the name it has there."""

    capability: Capability
    upstream: Upstream
    name: str


class Catalog:
    """The merged lists, and the way from a name to what it names."""

    def __init__(self, is_taken: Callable[[Kind, str], bool]) -> None:
        """`is_taken` tells names that are not free, because the hub serves them itself."""
        self._is_taken = is_taken
        self._upstreams: dict[str, Upstream] = {}
        self._of: dict[str, Mapping[ListedKind, Sequence[Route]]] = {}
        self._lists: dict[Kind, list[Capability]] = {}
        self._routes: dict[tuple[Kind, str], Route] = {}
        self._raw: dict[str, Route] = {}
        """Resources by the URI their own server knows them by, as it appears in results."""

    def put(self, upstream: Upstream) -> set[ListedKind]:
        """Take up what an upstream offers now; returns the kinds whose lists are different."""
        self._upstreams[upstream.name] = upstream
        before = self._of.get(upstream.name, {})
        after = self._of[upstream.name] = {kind: self._exposed(upstream, kind) for kind in KINDS}
        changed: set[ListedKind] = {
            kind for kind in KINDS if _definitions(before.get(kind, ())) != _definitions(after[kind])
        }
        self._merge()
        return changed

    def drop(self, server: str) -> set[ListedKind]:
        """Forget an upstream; returns the kinds whose lists are different."""
        self._upstreams.pop(server, None)
        gone = self._of.pop(server, {})
        self._merge()
        return {kind for kind, routes in gone.items() if routes}

    def arrange(self, servers: Sequence[str]) -> None:
        """Put the upstreams into this order."""
        self._of = {name: self._of[name] for name in servers if name in self._of}
        self._merge()

    def list(self, kind: Kind) -> Sequence[Capability]:
        """All of a kind: upstreams in the order of the settings, each one's in its own order."""
        return self._lists.get(kind, ())

    def find(self, kind: Kind, name: str) -> Route | None:
        """Where a name leads; a resource also by a template that its URI fits, and by its server's own URI."""
        found = self._routes.get((kind, name))
        if found is not None or kind != "resource":
            return found
        return self._raw.get(name) or self._by_template(name)

    def routes_of(self, server: str, kind: ListedKind) -> Sequence[Route]:
        """What one upstream offers."""
        return self._of.get(server, {}).get(kind, ())

    def exposed_uri_of(self, upstream: Upstream, uri: str) -> str:
        """What a resource of an upstream is called here, listed or not."""
        return uri if upstream.entry.expose == "bare" else exposed_uri(upstream.name, uri)

    def _by_template(self, uri: str) -> Route | None:
        for name, kinds in self._of.items():
            upstream = self._upstreams[name]
            prefix = "" if upstream.entry.expose == "bare" else f"{name}{SEPARATOR}"
            for template in kinds["template"]:
                # Its own URI, without the prefix, is what an answer of the server mentions.
                for rest in {uri.removeprefix(prefix), uri}:
                    if uritemplates.match(template.name, rest) is not None:
                        return Route(template.capability, upstream, rest)
        return None

    def _exposed(self, upstream: Upstream, kind: ListedKind) -> Sequence[Route]:
        definitions = upstream.definitions or Definitions()
        chosen = upstream.entry.tools if kind == "tool" else None
        picked = None if chosen is None else {tool.name: tool for tool in chosen if tool.enabled}
        found: list[Route] = []
        for listed in definitions.of(kind):
            tool = None if picked is None else picked.get(listed.name)
            if picked is None or tool is not None:
                found.append(self._route(upstream, kind, listed, tool))
        return found

    def _route(self, upstream: Upstream, kind: ListedKind, listed: Listed, tool: ToolEntry | None) -> Route:
        entry, key = upstream.entry, LISTS[kind][2]
        name = self._name(upstream.name, entry, kind, (tool.alias if tool else None) or listed.name)
        definition = bytes(listed.definition)
        if name != listed.name:
            fields: dict[str, Any] = msgspec.json.decode(definition, type=dict[str, msgspec.Raw])
            fields[key] = name
            definition = msgspec.json.encode(fields)
        tags = (tool.tags if tool and tool.tags is not None else None) or entry.tags
        action = "external" if kind == "tool" else "read"
        capability = Capability(kind, name, definition, upstream.name, action, tags=frozenset(tags))
        return Route(capability, upstream, listed.name)

    def _name(self, server: str, entry: ServerEntry, kind: ListedKind, name: str) -> str:
        if kind in ("resource", "template"):
            return name if entry.expose == "bare" else exposed_uri(server, name)
        # A bare name that is taken already is shown with its prefix instead: no name ever means two things.
        is_free = entry.expose == "bare" and not self._is_taken(kind, name) and not self._is_shown(server, kind, name)
        return name if is_free else exposed_name(server, name)

    def _is_shown(self, server: str, kind: ListedKind, name: str) -> bool:
        found = self._routes.get((kind, name))
        return found is not None and found.upstream.name != server

    def _merge(self) -> None:
        lists: dict[Kind, list[Capability]] = {kind: [] for kind in KINDS}
        routes: dict[tuple[Kind, str], Route] = {}
        raw: dict[str, Route] = {}
        for kinds in self._of.values():
            for kind, found in kinds.items():
                for route in found:
                    name = route.capability.name
                    if (kind, name) in routes or self._is_taken(kind, name):
                        log.warning("name taken, capability not shown", extra={"kind": kind, "capability": name})
                        continue
                    routes[kind, name] = route
                    lists[kind].append(route.capability)
                    if kind == "resource":
                        raw.setdefault(route.name, route)
        self._lists, self._routes, self._raw = lists, routes, raw


def _definitions(routes: Sequence[Route]) -> list[bytes]:
    return [route.capability.definition for route in routes]


def missing_tools(entry: ServerEntry, definitions: Definitions | None) -> list[str]:
    """Tools that the settings name and the server does not report."""
    if entry.tools is None or definitions is None:
        return []
    known = {listed.name for listed in definitions.of("tool")}
    return [tool.name for tool in entry.tools if tool.name not in known]
