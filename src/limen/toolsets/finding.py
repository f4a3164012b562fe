"""Toolset `finding`: search mode, in which clients see two tools by which they find and call all those of upstreams.

Decides nothing: a call by `call_tool` becomes a call of the tool it names before anything on the road is decided.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Sequence
from fnmatch import translate
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw
from msgspec.structs import replace

from limen.calls.call import Call, Capability, Kind, Result
from limen.calls.pipeline import Forward, Pipeline, is_exposed
from limen.calls.ports import Provider
from limen.config.problems import suggest
from limen.errors import ConfigInvalid, InvalidArguments, NotFound
from limen.models.embedders import EmbedderName, open_embedder
from limen.toolsets.provider import Reply, Tool, Toolset, text

if TYPE_CHECKING:
    from limen.toolsets.ranking import ToolRanking

__all__ = ["Finding"]

log = logging.getLogger(__name__)

CALL_TOOL: Final = "call_tool"
DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
DESCRIPTION_CHARS: Final = 400

FIND_TEXT: Final = (
    "Find tools by what they do. Many more tools can be used here than are listed: say what you need, and get those "
    "that fit best, each with the schema of its arguments. Then use one with call_tool."
)
CALL_TEXT: Final = "Call a tool that find_tools has found: its exact name, and the arguments its inputSchema asks for."
CALL_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The tool's name, as find_tools gives it."},
        "arguments": {"type": "object", "description": "Its arguments."},
    },
    "required": ["name"],
    "additionalProperties": False,
}


class FindArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `find_tools`."""

    query: Annotated[str, Meta(min_length=1, max_length=2000, description="What the tool should do, in a few words.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="How many tools at the most.")] = DEFAULT_LIMIT
    server: Annotated[str, Meta(description="Look among the tools of this server only; empty for all.")] = ""


class CallArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `call_tool`."""

    name: Annotated[str, Meta(min_length=1)]
    arguments: Raw = Raw(b"{}")


_decode_call = msgspec.json.Decoder(CallArgs).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Finding:
    """The two tools of search mode, and what they stand before."""

    def __init__(self, favourites: Sequence[str], embedder: EmbedderName) -> None:
        self._favourites = favourites
        self._embedder: EmbedderName = embedder
        self._behind: Provider | None = None
        self._building = asyncio.Lock()
        self._listed: Sequence[Capability] = ()
        self._ranking: ToolRanking | None = None
        self.toolset = Toolset(
            "finding",
            tools=[
                Tool("find_tools", FIND_TEXT, FindArgs, self._find, title="Find tools"),
                Tool(
                    CALL_TOOL,
                    CALL_TEXT,
                    CallArgs,
                    self._refuse,
                    title="Call a tool",
                    action="external",
                    input_schema=CALL_SCHEMA,
                ),
            ],
        )
        self.forwards: dict[str, Forward] = {CALL_TOOL: forward}

    def cover(self, provider: Provider) -> Provider:
        """Stand before a provider: its tools are found here, and only favourites among them are shown."""
        self._behind = provider
        return _Covered(provider, self._favourites)

    async def _find(self, args: FindArgs, call: Call) -> Reply:
        tools = () if self._behind is None else await self._behind.list("tool")
        ranking = await self._ranked(tools)
        exposed = {place for place, tool in enumerate(tools) if tool.listed and is_exposed(tool, call.caller)}
        servers = sorted({tools[place].source for place in exposed})
        if args.server and args.server not in servers:
            raise InvalidArguments(
                f"server: no tools of a server {args.server!r}; there are {', '.join(servers) or 'none'}",
                field="server",
            )
        among = {place for place in exposed if args.server in ("", tools[place].source)}
        found = await asyncio.to_thread(ranking.rank, args.query, among)
        hits = [_hit(tools[ranked.place], ranked.score) for ranked in found[: args.limit]]
        answer: dict[str, Any] = {"tools": hits, "searched": len(among)}
        if not hits:
            answer["servers"] = servers
        return Reply([text(msgspec.json.encode(answer).decode())], structured=answer)

    async def _ranked(self, tools: Sequence[Capability]) -> "ToolRanking":
        """The index of these tools, made anew when they are not those of the last time."""
        async with self._building:
            if self._ranking is None or not _is_same(self._listed, tools):
                self._ranking = await asyncio.to_thread(self._build, tools)
            self._listed = tools
            return self._ranking

    def _build(self, tools: Sequence[Capability]) -> "ToolRanking":
        # What ranks takes longer to load than all else a start does, see limen.brain.access.
        from limen.toolsets.ranking import ToolRanking, ToolText  # noqa: PLC0415

        texts = [ToolText.read(tool.definition) for tool in tools]
        try:
            return ToolRanking(texts, open_embedder(self._embedder))
        except ConfigInvalid as error:
            log.warning("tools are found by their words alone", extra={"reason": str(error)})
            return ToolRanking(texts)

    async def _refuse(self, args: CallArgs, call: Call) -> Reply:
        """Only calls come here that stand for no other one: say why."""
        if args.name == CALL_TOOL:
            raise InvalidArguments("name: call_tool does not call itself", field="name")
        if not _is_object(args.arguments):
            raise InvalidArguments("arguments: expected an object", field="arguments")
        tools = () if self._behind is None else await self._behind.list("tool")
        near = suggest(args.name, [tool.name for tool in tools if is_exposed(tool, call.caller)])
        hint = f"did you mean {near!r}?" if near else "find_tools tells which there are"
        raise InvalidArguments(f"name: no tool named {args.name!r}; {hint}", field="name")


def forward(pipeline: Pipeline, call: Call) -> Call:
    """The call that a call of `call_tool` stands for; itself when it stands for none."""
    try:
        wanted = _decode_call(call.arguments)
    except msgspec.DecodeError:
        return call
    if call.kind != "tool" or wanted.name == CALL_TOOL or not _is_object(wanted.arguments):
        return call
    try:
        pipeline.find("tool", wanted.name, call.caller)
    except NotFound:
        return call
    arguments = bytes(wanted.arguments)
    return replace(call, name=wanted.name, arguments=b"{}" if arguments == b"null" else arguments)


class _Covered:
    """A provider of whose tools only favourites are listed; all else is as it is."""

    def __init__(self, provider: Provider, favourites: Sequence[str]) -> None:
        self._provider = provider
        self._is_favourite = re.compile("|".join(map(translate, favourites)) or r"\b\B").match
        self._seen: Sequence[Capability] = ()
        self._shown: Sequence[Capability] = ()

    @property
    def source(self) -> str:
        return self._provider.source

    async def list(self, kind: Kind) -> Sequence[Capability]:
        listed = await self._provider.list(kind)
        if kind != "tool":
            return listed
        if listed is not self._seen:
            self._seen, self._shown = listed, [tool for tool in listed if self._is_favourite(tool.name)]
        return self._shown

    def find(self, kind: Kind, name: str) -> Capability | None:
        return self._provider.find(kind, name)

    def run(self, call: Call, capability: Capability) -> Awaitable[Result]:
        return self._provider.run(call, capability)


def _is_object(raw: Raw) -> bool:
    data = bytes(raw)
    return data[:1] == b"{" or data == b"null"


def _is_same(before: Sequence[Capability], now: Sequence[Capability]) -> bool:
    """Whether two lists say the same; nearly always they are the same list."""
    return before is now or [tool.definition for tool in before] == [tool.definition for tool in now]


def _hit(tool: Capability, score: float) -> dict[str, Any]:
    said = _decode_fields(tool.definition)
    described = msgspec.json.decode(said["description"]) if "description" in said else ""
    return {
        "name": tool.name,
        "server": tool.source,
        "description": _shortened(described) if isinstance(described, str) else "",
        "inputSchema": said.get("inputSchema", {"type": "object"}),
        "score": score,
    }


def _shortened(description: str) -> str:
    """A description's beginning, up to the end of a word."""
    if len(description) <= DESCRIPTION_CHARS:
        return description
    return f"{description[:DESCRIPTION_CHARS].rsplit(maxsplit=1)[0]} …"
