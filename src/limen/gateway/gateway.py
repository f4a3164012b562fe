"""The provider behind which all upstreams stand: lists what they offer, and takes each call to the one it is for."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from limen import __version__
from limen.calls.call import Call, Capability, Kind, Question, Result
from limen.calls.changes import ListChanged, ListedKind, ResourceUpdated
from limen.clock import monotonic
from limen.config.model import ServerEntry
from limen.errors import LimenError, NotFound, RemoteError, UpstreamError
from limen.gateway.cache import DefinitionCache
from limen.gateway.catalog import Catalog, Route, missing_tools
from limen.gateway.credentials import saved_credentials
from limen.gateway.house import House, Member
from limen.gateway.options import GatewayOptions
from limen.gateway.outgoing import envelope, outgoing
from limen.gateway.parking import TICKET, Parking
from limen.gateway.talk import Talk
from limen.gateway.upstream import State, Upstream
from limen.protocol.codes import HEADER_MISMATCH
from limen.protocol.versions import STATELESS_REVISION
from limen.transport.handshake import ClientProfile
from limen.transport.rounds import Round, read_round

__all__ = ["Gateway", "ServerStatus", "open_gateway"]

log = logging.getLogger(__name__)

FIRST_LIST_S: Final = 0.7
"""How long a list waits for servers that nothing is known of yet; those that are later announce themselves."""
REAP_EVERY_S: Final = 15.0
MOST_ROUNDS: Final = 10
_UPSTREAM_STATE: Final = "upstream:"
_IS_ERROR: Final = re.compile(rb'"isError"\s*:\s*true')

PROFILE: Final = ClientProfile(
    "limen",
    __version__,
    {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
)


class ServerStatus(Struct, frozen=True):
    """How one upstream is, for people."""

    name: str
    kind: str
    state: State
    tools: int
    version: str = ""
    server: str = ""
    reason: str = ""
    """Why it cannot be used, when it cannot."""
    warnings: Sequence[str] = ()
    stderr_tail: Sequence[str] = ()
    requests: int = 0


@asynccontextmanager
async def open_gateway(servers: Mapping[str, ServerEntry], options: GatewayOptions) -> AsyncGenerator["Gateway"]:
    """Stand before these servers; none is started before it is needed, except to learn what it offers."""
    gateway = Gateway(options)
    gateway.arrange(servers)
    reaping = asyncio.get_running_loop().create_task(gateway.reap_for_ever())
    try:
        yield gateway
    finally:
        reaping.cancel()
        await gateway.close()


class Gateway:
    """All upstreams as one provider."""

    source = "gateway"

    def __init__(self, options: GatewayOptions) -> None:
        self._options = options
        self._changes = options.changes
        self._changes.on_abandoned = self._on_abandoned
        self._catalog = Catalog(options.is_taken)
        self._parking = Parking()
        self._upstreams: dict[str, Upstream] = {}
        self._learning: dict[str, asyncio.Task[None]] = {}
        self._patience_ends = 0.0
        """Until when lists wait for servers that nothing is known of yet."""
        self._leaving: set[asyncio.Task[None]] = set()
        roots = [{"uri": Path(root).absolute().as_uri(), "name": Path(root).name} for root in options.roots]
        self._house = House(
            cache=DefinitionCache(options.cache_dir),
            environment=options.environment,
            roots=msgspec.json.encode({"roots": roots}),
            profile=PROFILE,
            authorizer=saved_credentials(options.credentials_dir),
            changed=self._on_changed,
            updated=self._on_updated,
        )

    def arrange(self, servers: Mapping[str, ServerEntry]) -> None:
        """Have exactly these servers: new ones come, others go, changed ones are begun anew, the rest is untouched."""
        wanted = {name: entry for name, entry in servers.items() if entry.enabled}
        changed: set[ListedKind] = set()
        for name in [name for name, known in self._upstreams.items() if wanted.get(name) != known.entry]:
            changed |= self._catalog.drop(name)
            self._leave(self._upstreams.pop(name))
        for name, entry in wanted.items():
            if name not in self._upstreams:
                upstream = self._upstreams[name] = Upstream(name, entry, self._house)
                changed |= self._catalog.put(upstream)
        self._upstreams = {name: self._upstreams[name] for name in wanted}
        self._catalog.arrange(list(wanted))
        self._announce(changed)

    def _leave(self, upstream: Upstream) -> None:
        self._aside(upstream.close())

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def get(self, server: str) -> Upstream:
        """The upstream of this name.

        Raises:
            NotFound: none is configured and switched on.
        """
        try:
            return self._upstreams[server]
        except KeyError:
            known = ", ".join(self._upstreams) or "none"
            raise NotFound(f"no server {server!r} is configured and switched on; there is {known}") from None

    def routes_of(self, server: str, kind: ListedKind) -> Sequence[Route]:
        """What one upstream offers here."""
        return self._catalog.routes_of(server, kind)

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """All of a kind. Servers that nothing is known of yet are asked first, but not waited for long."""
        unknown = [upstream for upstream in self._upstreams.values() if upstream.definitions is None]
        if unknown:
            learning = [self._learn(upstream) for upstream in unknown]
            waiting = [task for task in learning if not task.done()]
            patience_s = self._patience_ends - monotonic()
            if waiting and patience_s > 0:
                await asyncio.wait(waiting, timeout=patience_s)
        return self._catalog.list(kind)

    def learn(self) -> None:
        """Ask servers that nothing is known of what they offer; whoever listens hears of it."""
        for upstream in self._upstreams.values():
            if upstream.definitions is None:
                self._learn(upstream)

    def _learn(self, upstream: Upstream) -> "asyncio.Task[None]":
        task = self._learning.get(upstream.name)
        if task is None or (task.done() and upstream.is_worth_trying):
            if task is None or upstream.state != "ready":
                self._patience_ends = monotonic() + FIRST_LIST_S
            task = self._learning[upstream.name] = asyncio.get_running_loop().create_task(self._discover(upstream))
        return task

    async def _discover(self, upstream: Upstream) -> None:
        try:
            await upstream.discovered()
        except LimenError as error:
            log.warning("upstream not reached", extra={"server": upstream.name, "reason": str(error)})

    def find(self, kind: Kind, name: str) -> Capability | None:
        """The capability of this name."""
        route = self._catalog.find(kind, name)
        return None if route is None else route.capability

    async def run(self, call: Call, capability: Capability) -> Result:
        """Take a call to its upstream and bring the answer back, unread."""
        route = self._catalog.find(call.kind, call.name)
        if route is None:
            raise NotFound(f"{call.kind} {call.name!r} is gone", name=call.name)
        if call.method in ("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"):
            return await self._subscribe(call, route)
        exchange, shelf = call.exchange, self._options.shelf
        talk = Talk(exchange, f"{call.method} {route.name}")
        if exchange.state.startswith(TICKET):
            payload = await self._parking.resume(exchange.state.removeprefix(TICKET), exchange)
        elif exchange.is_lasting:
            payload = await self._converse(call, route, talk)
        else:
            payload = await self._parking.begin(talk, self._converse(call, route, talk))
        if shelf is not None and len(payload) > shelf.limits.result_bytes and call.method == "tools/call":
            payload = await shelf.shorten(call, capability, payload)
        return _result(call, payload)

    async def _converse(self, call: Call, route: Route, talk: Talk) -> bytes:
        """Ask the upstream, and go on asking as long as it wants to know more first."""
        more = self._foreign_state(call)
        for _ in range(MOST_ROUNDS):
            result = await self._request(call, route, talk, more)
            turn = read_round(call.method, result)
            if turn is None:
                return result
            more = await self._answered(talk, turn)
        raise UpstreamError(f"{route.upstream.name} wanted input {MOST_ROUNDS} times over", server=route.upstream.name)

    async def _request(self, call: Call, route: Route, talk: Talk, more: Mapping[str, object]) -> bytes:
        own = _own_fields(call, route)

        def build(version: str) -> bytes:
            if version != STATELESS_REVISION:
                return outgoing(call, own, {})
            return outgoing(call, {**own, **more}, envelope(call.exchange, PROFILE.info))

        upstream = route.upstream
        try:
            return await upstream.request(talk, call.method, build)
        except RemoteError as error:
            if error.rpc_code != HEADER_MISMATCH:
                raise
            # The tool wants arguments repeated in headers, which is news to us. It was refused unread.
            await upstream.refresh()
            return await upstream.request(talk, call.method, build)

    async def _answered(self, talk: Talk, turn: Round) -> dict[str, object]:
        questions = {
            key: talk.question(asked.method, bytes(asked.params)) for key, asked in (turn.input_requests or {}).items()
        }
        state = None if isinstance(turn.request_state, msgspec.UnsetType) else bytes(turn.request_state).decode()
        more: dict[str, object] = {} if state is None else {"requestState": msgspec.Raw(state.encode())}
        answers: dict[str, object] = {}
        for key in [key for key, asked in questions.items() if self._is_known(talk, asked)]:
            answers[key] = msgspec.Raw(self._house.roots)
            del questions[key]
        if questions or not answers:
            kept = msgspec.json.encode({"state": state, "known": list(answers)}).decode()
            answers |= await talk.exchange.ask(questions, state=f"{_UPSTREAM_STATE}{kept}")
        return {**more, "inputResponses": answers}

    def _foreign_state(self, call: Call) -> dict[str, object]:
        """What an upstream asked us to bring back, and the answers that the client has brought for it."""
        state = call.exchange.state
        if not state.startswith(_UPSTREAM_STATE):
            # Answers to nothing we know of: the upstream may know them, and judges them.
            return {"inputResponses": call.exchange.answers} if call.exchange.answers else {}
        kept = msgspec.json.decode(state.removeprefix(_UPSTREAM_STATE), type=_Foreign)
        known = {key: msgspec.Raw(self._house.roots) for key in kept.known}
        more: dict[str, object] = {"inputResponses": {**known, **call.exchange.answers}}
        if kept.state is not None:
            more["requestState"] = msgspec.Raw(kept.state.encode())
        return more

    def _is_known(self, talk: Talk, question: Question) -> bool:
        return question.method == "roots/list" and not talk.exchange.supports("roots")

    async def _subscribe(self, call: Call, route: Route) -> Result:
        # Who no longer wants to hear of it may also just leave; the last one gone is heard of from the feed.
        if call.method != "resources/unsubscribe":
            await route.upstream.subscribe(route.name, Talk(call.exchange, "resources/subscribe"))
        return Result(b"{}")

    def _on_abandoned(self, uri: str) -> None:
        route = self._catalog.find("resource", uri)
        if route is None:
            return
        names = (route.name, self._catalog.exposed_uri_of(route.upstream, route.name))
        if not any(self._changes.is_followed(name) for name in names):
            self._aside(route.upstream.unsubscribe(route.name))

    def _on_changed(self, member: Member) -> None:
        upstream = self._upstreams.get(member.name)
        if upstream is None or upstream is not member:
            return
        self._announce(self._catalog.put(upstream))
        self._catalog.arrange(list(self._upstreams))
        for tool in missing_tools(upstream.entry, upstream.definitions):
            log.warning("the settings name a tool that its server lacks", extra={"server": upstream.name, "tool": tool})

    def _on_updated(self, member: Member, uri: str) -> None:
        upstream = self._upstreams.get(member.name)
        if upstream is None or upstream is not member:
            return
        for name in {uri, self._catalog.exposed_uri_of(upstream, uri)}:
            self._changes.publish(ResourceUpdated(name))

    def _announce(self, kinds: set[ListedKind]) -> None:
        for kind in sorted(kinds):
            self._changes.publish(ListChanged(kind))

    def status(self) -> Sequence[ServerStatus]:
        """How every upstream is; asks none of them."""
        return [self._status(upstream) for upstream in self._upstreams.values()]

    def _status(self, upstream: Upstream) -> ServerStatus:
        known = upstream.definitions
        warnings = [*(known.problems if known else ())]
        warnings += [f"the server has no tool {name!r}" for name in missing_tools(upstream.entry, known)]
        if upstream.junk:
            warnings.append(f"it wrote {upstream.junk} lines that are no messages to its stdout")
        return ServerStatus(
            name=upstream.name,
            kind=upstream.entry.kind,
            state=upstream.state,
            tools=len(self._catalog.routes_of(upstream.name, "tool")),
            version=known.version if known else "",
            server=known.server if known else "",
            reason=upstream.last_error,
            warnings=warnings,
            stderr_tail=upstream.stderr_tail,
            requests=upstream.usage.requests,
        )

    async def reap_for_ever(self) -> None:
        """Stop servers that nobody uses, all that are due at once."""
        while True:
            await asyncio.sleep(REAP_EVERY_S)
            await self.reap()

    async def reap(self) -> None:
        """Stop those that nobody uses now."""
        async with asyncio.TaskGroup() as group:
            for upstream in self._upstreams.values():
                if upstream.is_idle():
                    log.info("idle upstream stopped", extra={"server": upstream.name})
                    group.create_task(upstream.stop())

    async def close(self) -> None:
        """Let go of all of them."""
        await self._parking.close()
        for task in self._learning.values():
            task.cancel()
        if self._learning:
            await asyncio.wait(self._learning.values())
        async with asyncio.TaskGroup() as group:
            for upstream in self._upstreams.values():
                group.create_task(upstream.close())
        if self._leaving:
            await asyncio.wait(self._leaving)


def _own_fields(call: Call, route: Route) -> dict[str, object]:
    """What is asked for, under the name the upstream knows."""
    match call.method:
        case "tools/call" | "prompts/get":
            return {"name": route.name, "arguments": msgspec.Raw(call.arguments)}
        case "completion/complete":
            ref = (
                {"type": "ref/prompt", "name": route.name}
                if call.kind == "prompt"
                else {"type": "ref/resource", "uri": route.name}
            )
            return {"ref": ref, "argument": msgspec.Raw(call.arguments)}
        case _:
            return {"uri": route.name}


class _Foreign(Struct):
    state: str | None = None
    known: list[str] = []


class _Verdict(Struct, rename="camel"):
    is_error: bool = False


def _result(call: Call, payload: bytes) -> Result:
    # Looked for before it is read: nearly every answer is none, and most are large.
    is_error = (
        call.method == "tools/call"
        and _IS_ERROR.search(payload) is not None
        and msgspec.json.decode(payload, type=_Verdict).is_error
    )
    return Result(payload, is_error=is_error, code="tool_failed" if is_error else "")
