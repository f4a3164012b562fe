"""Toolset `hub`: the local context surface, readable by any client from the first minute."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from limen import __version__
from limen.calls.call import Call
from limen.errors import InvalidArguments
from limen.protocol.versions import SERVED
from limen.toolsets.guide import Guide, Hit, find_docs
from limen.toolsets.provider import Contents, Prompt, PromptArgument, Reply, Resource, Template, Tool, Toolset, text

__all__ = ["hub_toolset"]

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
_LIMITS = ("1", "3", "5", "10", "20", "50")

HELP = """# Local context

Limen searches what is kept on this machine, without a network and without keys.

- `search_local_context` finds passages: give a `query`, and a `limit` if five are not enough.
- `limen://context/search?query=WORDS&limit=N` is the same as a resource.
- `summarize_local_context` is a prompt that hands the passages it found to your model.
- `limen://context/status` says what is searched.

Until a brain exists, the local context is Limen's own documentation.
"""


class SearchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `search_local_context`."""

    query: Annotated[str, Meta(min_length=1, max_length=2000, description="Words to look for.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="How many passages at the most.")] = DEFAULT_LIMIT


def hub_toolset(guide: Guide | None = None) -> Toolset:
    """The toolset, over Limen's own documentation or another guide."""
    surface = _LocalContext(guide or Guide(find_docs()))
    completions = {"query": surface.complete_query, "limit": surface.complete_limit}
    return Toolset(
        "hub",
        tools=[
            Tool(
                "search_local_context",
                "Search the notes and documentation kept on this machine and return the best passages.",
                SearchArgs,
                surface.search,
                title="Search local context",
            )
        ],
        prompts=[
            Prompt(
                "summarize_local_context",
                "Summarize what the local context says about something, with its sources.",
                surface.summarize,
                [
                    PromptArgument("query", "What the summary is about.", required=True),
                    PromptArgument("limit", f"How many passages to read, {DEFAULT_LIMIT} unless told."),
                ],
                completions,
            )
        ],
        resources=[
            Resource(
                "limen://context/help",
                "context-help",
                "How to use the local context.",
                surface.help,
                "text/markdown",
                ["secondbrain://context/help"],
            ),
            Resource(
                "limen://context/status",
                "context-status",
                "What the local context holds.",
                surface.status,
                "application/json",
                ["secondbrain://context/status"],
            ),
        ],
        templates=[
            Template(
                "limen://context/search{?query,limit}",
                "context-search",
                "Passages of the local context that fit a query.",
                surface.read_search,
                "application/json",
                ["secondbrain://context/search{?query,limit}"],
                completions,
            )
        ],
    )


class _LocalContext:
    def __init__(self, guide: Guide) -> None:
        self._guide = guide

    async def search(self, args: SearchArgs, call: Call) -> Reply:
        hits = self._guide.search(args.query, args.limit)
        return Reply([text(_as_text(args.query, hits))], structured=_as_data(args.query, hits))

    async def summarize(self, call: Call, arguments: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        query = arguments["query"]
        hits = self._guide.search(query, _limit(arguments.get("limit")))
        request = (
            f"Summarize what these passages say about “{query}”. Name the path of each passage you use. "
            "If they do not answer it, say so.\n\n" + _as_text(query, hits)
        )
        return [{"role": "user", "content": text(request)}]

    async def help(self, call: Call) -> Contents:
        return Contents(HELP, "text/markdown")

    async def status(self, call: Call) -> Contents:
        sections = self._guide.sections
        status = {
            "version": __version__,
            "protocolVersions": SERVED,
            "source": "documentation",
            "documents": len({section.path for section in sections}),
            "sections": len(sections),
        }
        return Contents(msgspec.json.encode(status).decode(), "application/json")

    async def read_search(self, call: Call, values: Mapping[str, str]) -> Contents:
        query = values.get("query", "").strip()
        if not query:
            raise InvalidArguments("query: give the words to look for, as in ?query=approval", field="query")
        hits = self._guide.search(query, _limit(values.get("limit")))
        return Contents(msgspec.json.encode(_as_data(query, hits)).decode(), "application/json")

    def complete_query(self, typed: str) -> Sequence[str]:
        return self._guide.titles(typed, MAX_LIMIT)

    def complete_limit(self, typed: str) -> Sequence[str]:
        return [limit for limit in _LIMITS if limit.startswith(typed)]


def _limit(given: str | None) -> int:
    if given is None:
        return DEFAULT_LIMIT
    if given.isdecimal() and len(given) <= len(f"{MAX_LIMIT}") and 1 <= int(given) <= MAX_LIMIT:
        return int(given)
    raise InvalidArguments(f"limit: expected a number from 1 to {MAX_LIMIT}, not {given[:20]!r}", field="limit")


def _as_data(query: str, hits: Sequence[Hit]) -> dict[str, Any]:
    return {
        "query": query,
        "results": [{"path": hit.path, "title": hit.title, "excerpt": hit.excerpt, "score": hit.score} for hit in hits],
    }


def _as_text(query: str, hits: Sequence[Hit]) -> str:
    if not hits:
        return f"Nothing in the local context matches “{query}”."
    return "\n\n".join(f"## {hit.title}\n({hit.path})\n\n{hit.excerpt}" for hit in hits)
