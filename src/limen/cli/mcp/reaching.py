"""Opens the hub for a command about other servers, and finds what the command names there. Calls take the road."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from limen.app import Limen, open_limen
from limen.calls.call import Call, Exchange, Kind, Result
from limen.calls.changes import ListedKind
from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings, tell_problems
from limen.config.load import Loaded
from limen.config.problems import suggest
from limen.errors import ConfigInvalid, NotFound, ResourceNotFound
from limen.gateway.catalog import Route
from limen.gateway.gateway import Gateway
from limen.gateway.names import exposed_uri
from limen.gateway.upstream import Upstream
from limen.ids import new_call_id

__all__ = ["Hub", "open_hub", "split_name"]

_METHODS: Mapping[Kind, str] = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}


@dataclass(frozen=True, slots=True)
class Hub:
    """A hub that is open for one command, and the settings it was opened with."""

    invocation: Invocation
    loaded: Loaded
    limen: Limen

    @property
    def gateway(self) -> Gateway:
        """The way to other servers.

        Raises:
            NotFound: there are none.
        """
        if self.limen.gateway is None:
            raise NotFound("no server is configured", fix="limen mcp add NAME -- COMMAND, or limen client import")
        return self.limen.gateway

    def get(self, server: str) -> Upstream:
        """The upstream of this name.

        Raises:
            ConfigInvalid: its entry cannot be used; the message says why.
            NotFound: it is switched off, or there is none.
        """
        check_usable(self.loaded, server)
        return self.gateway.get(server)

    async def find(self, upstream: Upstream, kind: ListedKind, name: str) -> Route:
        """What a person means by this name: the server's own, the one clients see, or its alias.

        Raises:
            NotFound: the server has nothing of this name, or the settings do not expose it.
            LimenError: the server cannot be reached.
        """
        await upstream.discovered()
        found = self._named(upstream, kind, name)
        if found is None:
            # What is known may be of yesterday.
            await upstream.refresh()
            found = self._named(upstream, kind, name)
        return found or self._missing(upstream, kind, name)

    def _named(self, upstream: Upstream, kind: ListedKind, name: str) -> Route | None:
        alias = f"{upstream.name}__{name}"
        routes = self.gateway.routes_of(upstream.name, kind)
        own = next((route for route in routes if route.name == name), None)
        return own or next((route for route in routes if route.capability.name in (name, alias)), None)

    def _missing(self, upstream: Upstream, kind: ListedKind, name: str) -> Route:
        listed = [] if upstream.definitions is None else [item.name for item in upstream.definitions.of(kind)]
        if name in listed:
            raise NotFound(
                f"{upstream.name} has a {kind} {name!r}, but the settings do not expose it",
                fix=f"add it to `servers.{upstream.name}.tools`, or remove that list",
            )
        near = suggest(name, listed)
        raise NotFound(
            f"{upstream.name} has no {kind} {name!r}" + (f"; did you mean {near!r}?" if near else ""),
            fix=f"limen mcp discover {upstream.name}",
        )

    async def uri(self, upstream: Upstream, uri: str) -> str:
        """What a resource is called here, by the URI its server knows or by ours.

        Raises:
            ResourceNotFound: the server lists no such resource, and no template fits.
            LimenError: the server cannot be reached.
        """
        prefixed = uri if upstream.entry.expose == "bare" else exposed_uri(upstream.name, uri)
        await upstream.discovered()
        for is_fresh in (False, True):
            if is_fresh:
                await upstream.refresh()
            for candidate in (prefixed, uri):
                found = self.gateway.find("resource", candidate)
                if found is not None and found.source == upstream.name:
                    return candidate
        raise ResourceNotFound(
            f"{upstream.name} lists no resource {uri!r}, and none of its templates fits",
            uri=uri,
            fix=f"limen mcp discover {upstream.name}",
        )

    async def run(self, kind: Kind, name: str, arguments: Mapping[str, Any], exchange: Exchange) -> Result:
        """One call down the road, as the person at this machine.

        Raises:
            LimenError: it failed on the way; a tool's own failure is a result.
        """
        encoded = msgspec.json.encode(arguments)
        call = Call(new_call_id(), _METHODS[kind], kind, name, encoded, self.limen.owner, exchange)
        return await self.limen.pipeline.run(call)


def check_usable(loaded: Loaded, server: str) -> None:
    """Refuse a server that the settings do not let be used, with the reason.

    Raises:
        ConfigInvalid: its entry cannot be used.
        NotFound: it is switched off, or there is none.
    """
    if server in loaded.disabled:
        raise ConfigInvalid(f"{server} cannot be used: {loaded.disabled[server]}", fix=f"limen mcp doctor {server}")
    entry = loaded.settings.servers.get(server)
    if entry is None:
        near = suggest(server, loaded.settings.servers)
        raise NotFound(
            f"no server {server!r} is configured" + (f"; did you mean {near!r}?" if near else ""),
            fix="limen mcp servers",
        )
    if not entry.enabled:
        raise NotFound(f"{server} is switched off", fix=f"limen mcp update {server} --enable")


@asynccontextmanager
async def open_hub(invocation: Invocation, *, tells_servers: bool = True) -> AsyncGenerator[Hub]:
    """The hub as the settings say, and what is wrong with them told; with servers or without."""
    loaded = load_settings(invocation)
    told = [problem for problem in loaded.problems if tells_servers or problem.server is None]
    tell_problems(invocation, structs.replace(loaded, problems=tuple(told)))
    async with open_limen(loaded.settings, loaded.paths, for_clients=False) as limen:
        yield Hub(invocation, loaded, limen)


def split_name(word: str) -> tuple[str, str]:
    """Server and tool of `server.tool` or `server__tool`; the tool is empty when only a server is named."""
    for separator in (".", "__"):
        # No server's name holds either, so the first one always ends it.
        server, found, tool = word.partition(separator)
        if found and tool:
            return server, tool
    return word, ""
