"""Toolset `memory`: what agents remember, find again and take in; the names and shapes are a wire contract."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from limen.brain.access import BrainAccess
from limen.brain.index.ports import Filters
from limen.brain.paths import Scope
from limen.brain.records import Note, Visibility
from limen.brain.retrieval.answers import SearchRequest
from limen.calls.call import Call
from limen.errors import LimenError
from limen.toolsets import memoryschemas
from limen.toolsets.memoryshapes import answer_on_wire, failure_on_wire, hit_on_wire, ingest_told, search_told
from limen.toolsets.provider import Reply, Tool, Toolset, text

__all__ = ["memory_toolset"]

Query = Annotated[str, Meta(min_length=1, max_length=4096, description="What to look for: words, a question, a date.")]
BrainName = Annotated[str, Meta(min_length=1, description="Id or slug of the brain; the default one when left out.")]
MemoryScope = Literal["global", "project", "agent"]


class _Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Arguments of a memory tool; what is not named here is refused."""


class SearchArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_search`."""

    query: Query
    brain: BrainName | None = None
    top_k: Annotated[int, Meta(ge=1, le=100, description="How many passages at the most.")] = 10
    scope: Annotated[
        Literal["all", "global", "project", "agent"], Meta(description="The memory namespace to look in.")
    ] = "all"
    sort: Annotated[
        Literal["relevance", "recency", "relevance_then_recency"],
        Meta(description="What comes first: the best match, the newest, or the newest among good matches."),
    ] = "relevance"


class RecallArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_recall`."""

    query: Query
    brain: BrainName | None = None
    scope: Annotated[MemoryScope | None, Meta(description="The memory namespace to look in.")] = None
    session_id: Annotated[str, Meta(min_length=1, description="The conversation that weighs in.")] | None = None
    top_k: Annotated[int, Meta(ge=1, le=50, description="How many passages at the most.")] = 10


class RememberArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_remember`."""

    content: Annotated[str, Meta(min_length=1, max_length=5_000_000, description="The memory, in markdown.")]
    title: (
        Annotated[str, Meta(min_length=1, max_length=512, description="Taken from the first heading if omitted.")]
        | None
    ) = None
    brain: BrainName | None = None
    tags: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
        Meta(max_length=64, description="Words to file it under."),
    ] = ()
    path: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="Where to keep it, as in memory/global/x.md; what is there is replaced.",
            ),
        ]
        | None
    ) = None


class IngestFileArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_ingest_file`."""

    path: Annotated[str, Meta(min_length=1, description="A file on this machine, beneath `allowed_file_roots`.")]
    brain: BrainName | None = None
    as_: Annotated[
        Literal["markdown", "text", "pdf", "json"] | None, Meta(description="What it is, when its name does not tell.")
    ] = msgspec.field(default=None, name="as")


class IngestUrlArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_ingest_url`."""

    url: Annotated[
        str,
        Meta(
            min_length=1, max_length=8192, description="An http or https address.", extra_json_schema={"format": "uri"}
        ),
    ]
    brain: BrainName | None = None


class CreateBrainArgs(_Args, frozen=True, kw_only=True):
    """Arguments of `memory_create_brain`."""

    name: Annotated[str, Meta(min_length=1, max_length=128, description="What people call it.")]
    slug: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=64,
                pattern="^[a-z0-9][a-z0-9-]*$",
                description="Its short name; made from the name if omitted.",
            ),
        ]
        | None
    ) = None
    visibility: Annotated[Visibility, Meta(description="Who may see it.")] = "private"


class ListBrainsArgs(_Args, frozen=True, kw_only=True):
    """`memory_list_brains` takes no arguments."""


def memory_toolset(brains: BrainAccess) -> Toolset:
    """The toolset over these brains."""
    memory = _Memory(brains)
    return Toolset(
        "memory",
        tools=[
            Tool(
                "memory_search",
                "Find passages in a brain's notes and documents, each with its path, exact span and the reasons it "
                'matched. Understands "exact phrases", AND, OR, NOT, prefix* and dates in plain words.',
                SearchArgs,
                _told(memory.search),
                title="Search memory",
                extra={"outputSchema": memoryschemas.SEARCH},
            ),
            Tool(
                "memory_recall",
                "Bring back what is remembered about something. With a session_id, what that conversation is about "
                "weighs in; without one it is a search.",
                RecallArgs,
                _told(memory.recall),
                title="Recall",
                extra={"outputSchema": memoryschemas.RECALL},
            ),
            Tool(
                "memory_remember",
                "Keep something for later, as a markdown document that is durable and searchable when the answer "
                "comes. Tells the document's id and path.",
                RememberArgs,
                _told(memory.remember),
                title="Remember",
                action="write",
                tier="write",
                extra={"outputSchema": memoryschemas.DOCUMENT},
            ),
            Tool(
                "memory_ingest_file",
                "Take a file of this machine into a brain, up to 25 MiB: markdown, text, JSON, HTML, PDF or DOCX. "
                "Big files are queued and the answer names the job.",
                IngestFileArgs,
                _told(memory.ingest_file),
                title="Ingest a file",
                action="write",
                tier="write",
                extra={"outputSchema": memoryschemas.INGEST},
            ),
            Tool(
                "memory_ingest_url",
                "Fetch a web page or file, up to 5 MiB, and take its readable text into a brain, marked untrusted.",
                IngestUrlArgs,
                _told(memory.ingest_url),
                title="Ingest an address",
                action="external",
                tier="write",
                extra={"outputSchema": memoryschemas.INGEST_URL},
            ),
            Tool(
                "memory_create_brain",
                "Make a new, empty brain: a set of documents of its own. The slug is made from the name if omitted.",
                CreateBrainArgs,
                _told(memory.create_brain),
                title="Create a brain",
                action="write",
                tier="write",
                extra={"outputSchema": memoryschemas.BRAIN},
            ),
            Tool(
                "memory_list_brains",
                "List the brains you may use.",
                ListBrainsArgs,
                _told(memory.list_brains),
                title="List brains",
                extra={"outputSchema": memoryschemas.BRAINS},
            ),
        ],
    )


class _Memory:
    def __init__(self, brains: BrainAccess) -> None:
        self._brains = brains

    async def search(self, args: SearchArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).open(args.brain)
        answer = await brain.search(
            SearchRequest(query=args.query, limit=args.top_k, filters=_filters(args.scope), sort=args.sort)
        )
        return Reply([text(search_told(args.query, answer.hits))], answer_on_wire(args.query, brain.brain, answer))

    async def recall(self, args: RecallArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).open(args.brain)
        answer = await brain.search(
            SearchRequest(query=args.query, limit=args.top_k, filters=_filters(args.scope or "all"))
        )
        summary = [text(search_told(args.query, answer.hits))]
        if args.session_id is None:
            return Reply(summary, answer_on_wire(args.query, brain.brain, answer))
        return Reply(summary, {"chunks": [hit_on_wire(hit, brain.brain) for hit in answer.hits]})

    async def remember(self, args: RememberArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).open(args.brain, create=True)
        note = Note(content=args.content, title=args.title, path=args.path or "", tags=args.tags)
        record = await brain.remember(note, actor=call.caller.subject)
        return Reply([text(f"Remembered “{record.title}” at {record.path} ({record.id}).")], record)

    async def ingest_file(self, args: IngestFileArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).open(args.brain, create=True)
        report = await brain.ingest_file(args.path, args.as_, actor=call.caller.subject)
        return Reply([text(ingest_told(report))], report)

    async def ingest_url(self, args: IngestUrlArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).open(args.brain, create=True)
        report = await brain.ingest_url(args.url, actor=call.caller.subject)
        return Reply([text(ingest_told(report))], {"path": "server", "result": report})

    async def create_brain(self, args: CreateBrainArgs, call: Call) -> Reply:
        brain = await (await self._brains.get()).create(args.name, args.slug, args.visibility)
        return Reply([text(f"Created the brain “{brain.name}” ({brain.slug}).")], brain)

    async def list_brains(self, args: ListBrainsArgs, call: Call) -> Reply:
        brains = await (await self._brains.get()).list()
        lines = [f"{brain.slug}: {brain.name} ({brain.visibility})" for brain in brains]
        return Reply(
            [text("\n".join(lines) or "There is no brain yet; remembering something makes one.")], {"items": brains}
        )


def _told(run: Callable[[Any, Call], Awaitable[Reply]]) -> Callable[[Any, Call], Awaitable[Reply]]:
    """The tool, with its failures as results that a model can read and a program can tell apart."""

    async def told(args: Any, call: Call) -> Reply:
        try:
            return await run(args, call)
        except LimenError as error:
            return Reply([text(f"{error.code}: {error}")], failure_on_wire(error), is_error=True, code=error.code)

    return told


def _filters(scope: str) -> Filters:
    found = _SCOPES.get(scope)
    return Filters() if found is None else Filters(scopes=frozenset({found}))


_SCOPES: Mapping[str, Scope] = {"global": "global", "project": "project", "agent": "agent"}
