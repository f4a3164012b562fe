"""`limen remember|search|recall`: the memory tools for the person at the terminal, reading stdin where it fits."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from limen.cli.calling import call_once
from limen.cli.output import Output
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.passages import Passages, Trace
from limen.errors import InvalidArguments

__all__ = ["app"]

app = new_app()

BrainName = Annotated[str | None, typer.Option("--brain", metavar="NAME", help="Id or slug of the brain.")]
Words = Annotated[list[str] | None, typer.Argument(metavar="QUERY...", help="What to look for; `-` reads stdin.")]
TopK = Annotated[int, typer.Option("--top-k", metavar="N", help="How many passages at the most.")]


@app.command(
    epilog=example('limen remember "The deploy key rotates on Mondays"', "limen remember --tag ops < notes.md")
)
def remember(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    content: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Markdown; stdin without it.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Its title; else its first heading.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="File it under this word; may be repeated.")] = None,
    path: Annotated[str | None, typer.Option("--path", help="Where to keep it; what is there is replaced.")] = None,
    brain: BrainName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Keep something for later.

    It is durable and can be found when the command ends. Every earlier version stays in the history.
    """
    invocation = begin(context, config, as_json)
    arguments = {"content": _text(content, "text"), "title": title, "tags": tag or None, "path": path, "brain": brain}
    record = call_once(invocation, "memory_remember", arguments)
    if invocation.output.is_json:
        invocation.output.data(record)
    else:
        invocation.output.text(f"Remembered “{record['title']}” at {record['path']}")


@app.command(epilog=example("limen search deploy key", 'limen search "what did we decide last March" --explain'))
def search(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    query: Words = None,
    top_k: TopK = 10,
    scope: Annotated[str, typer.Option("--scope", help="all, global, project or agent.")] = "all",
    sort: Annotated[str, typer.Option("--sort", help="relevance, recency or relevance_then_recency.")] = "relevance",
    mode: Annotated[str, typer.Option("--mode", help="auto, bm25, semantic or hybrid.")] = "auto",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only documents with this tag; may repeat.")] = None,
    prefix: Annotated[str | None, typer.Option("--path", help="Only documents whose path begins so.")] = None,
    project: Annotated[str | None, typer.Option("--project", help="Only documents of this project.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="DATE", help="Dated on this day or later.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Dated on this day or earlier.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each passage was found.")] = False,
    brain: BrainName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Find passages in a brain.

    Words, a question, "an exact phrase", AND, OR, NOT, prefix* and dates in plain words are understood.
    """
    invocation = begin(context, config, as_json)
    given = {"tags": tag, "path_prefix": prefix, "project": project, "since": since, "until": until}
    filters = {key: value for key, value in given.items() if value}
    arguments = {
        "brain": brain,
        "query": _text(query, "query"),
        "top_k": top_k,
        "scope": scope,
        "sort": sort,
        "mode": mode,
        "filters": filters or None,
        "explain": explain or None,
    }
    _show(invocation.output, call_once(invocation, "brain_search", arguments, kind="operation"))


@app.command(epilog=example("limen recall deploy key", "limen recall --session ses_1 what was planned"))
def recall(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    query: Words = None,
    top_k: TopK = 10,
    scope: Annotated[str | None, typer.Option("--scope", help="global, project or agent.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="The conversation that weighs in.")] = None,
    brain: BrainName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring back what is remembered about something."""
    invocation = begin(context, config, as_json)
    arguments = {
        "brain": brain,
        "query": _text(query, "query"),
        "top_k": top_k,
        "scope": scope,
        "session_id": session,
    }
    _show(invocation.output, call_once(invocation, "memory_recall", arguments))


def _text(words: Sequence[str] | None, field: str) -> str:
    """What was typed, or what comes in on stdin when nothing was, or when it is a dash."""
    if words and list(words) != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise InvalidArguments(f"{field}: give it as an argument, or on stdin", field=field)
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"{field}: what came in on stdin is not UTF-8 text", field=field) from None
    if not text.strip():
        raise InvalidArguments(f"{field}: nothing came in on stdin", field=field)
    return text


def _show(output: Output, answer: Mapping[str, Any]) -> None:
    if output.is_json:
        output.data(answer)
        return
    hits = answer["hits"] if "hits" in answer else answer["chunks"]
    if not hits:
        output.say("Nothing found.")
        return
    output.show(Passages(hits))
    if "trace" in answer:
        output.show(Trace(answer["trace"]))
