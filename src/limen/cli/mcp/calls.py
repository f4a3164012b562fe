"""`limen call` and its kin: use a tool, read a resource, get a prompt of another server, all down the road."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from limen.calls.call import Result
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.mcp.arguments import parse_object, parse_words
from limen.cli.mcp.content import Answer, failure_text
from limen.cli.mcp.reaching import Hub, open_hub, split_name
from limen.cli.mcp.terminal import TerminalExchange
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.errors import InvalidArguments, ToolFailed, face_of

__all__ = ["ServerName", "app", "call", "decoded", "get_prompt", "read_resource"]

app = new_app()
"""`limen call`, which needs no group before it."""

ServerName = Annotated[str, typer.Argument(metavar="SERVER", help="A server, as `limen mcp servers` names it.")]


@app.command(
    epilog=example(
        "limen call sample echo text=hello",
        "limen call sample.get_time",
        "limen call files search limit:=5 'query=deploy key'",
        'echo \'{"text": "hello"}\' | limen call sample echo',
    )
)
def call(
    context: typer.Context,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="A server, or `server.tool` at once.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOOL [ARGUMENT]...",
            help="The tool, then key=value, key:=json or one JSON object; stdin when there are none, or for `-`.",
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Call a tool of another server.

    Ends with exit code 5 when the tool reports failure. Text, or the whole result as JSON in a pipe. What the server
    asks while it works is asked here, when somebody is at the terminal; Ctrl-C takes the call back.
    """
    invocation = begin(context, config, as_json)
    name, tool = split_name(server)
    rest = list(words or ())
    if not tool and not rest:
        raise InvalidArguments(
            "TOOL: which tool of the server?", field="TOOL", fix=f"limen mcp discover {printable(name)}"
        )
    tool = tool or rest.pop(0)
    _show(invocation, run_async(_call(invocation, name, tool, rest)))


async def _call(invocation: Invocation, server: str, tool: str, words: Sequence[str]) -> Result:
    stdin = _stdin_object(words)
    async with open_hub(invocation) as hub:
        upstream = hub.get(server)
        route = await hub.find(upstream, "tool", tool)
        schema = msgspec.json.decode(route.capability.definition, type=dict[str, Any]).get("inputSchema")
        arguments = parse_words(words, schema) if stdin is None else stdin
        return await hub.run("tool", route.capability.name, arguments, _exchange(hub, server))


def _stdin_object(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments that come in on stdin; None when they stand on the command line."""
    if list(words) == ["-"] or (not words and not sys.stdin.isatty()):
        return parse_object(sys.stdin.buffer.read().decode("utf-8", "replace"), "stdin")
    return None


def read_resource(
    context: typer.Context,
    server: ServerName,
    uri: Annotated[str, typer.Argument(metavar="URI", help="The resource, as its server names it.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Read a resource of another server."""
    invocation = begin(context, config, as_json)
    _show(invocation, run_async(_read(invocation, server, uri)))


async def _read(invocation: Invocation, server: str, uri: str) -> Result:
    async with open_hub(invocation) as hub:
        name = await hub.uri(hub.get(server), uri)
        return await hub.run("resource", name, {}, _exchange(hub, server))


def get_prompt(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    server: ServerName,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt, as its server names it.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGUMENT]...", help="key=value, or one JSON object.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Get a prompt of another server, filled in."""
    invocation = begin(context, config, as_json)
    _show(invocation, run_async(_get(invocation, server, prompt, words or ())))


async def _get(invocation: Invocation, server: str, prompt: str, words: Sequence[str]) -> Result:
    # The arguments of prompts are texts, whatever they look like.
    arguments = parse_words(words, None)
    async with open_hub(invocation) as hub:
        route = await hub.find(hub.get(server), "prompt", prompt)
        return await hub.run("prompt", route.capability.name, arguments, _exchange(hub, server))


def _exchange(hub: Hub, server: str) -> TerminalExchange:
    return TerminalExchange(hub.invocation.output, server)


def decoded(result: Result) -> Any:
    """A result as plain data, numbers as they were written."""
    return json.loads(result.payload)


def _show(invocation: Invocation, result: Result) -> None:
    output = invocation.output
    output.untick()
    if output.is_json:
        # As the server wrote it, unless that is more than one line.
        if b"\n" in result.payload:
            output.data(decoded(result))
        else:
            output.text(result.payload.decode())
    elif result.is_error:
        output.say(f"{output.paint('error:', 'fail')} {failure_text(decoded(result))}")
    else:
        output.show(Answer(decoded(result)))
    if result.is_error:
        raise typer.Exit(face_of(ToolFailed("")).exit)
