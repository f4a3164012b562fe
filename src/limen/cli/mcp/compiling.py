"""`limen mcp compile-resource`: a resource of another server becomes a document of a brain, with where it came from."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

import typer

from limen.cli.calling import Road
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.mcp.calls import ServerName, decoded
from limen.cli.mcp.reaching import open_hub
from limen.cli.mcp.terminal import TerminalExchange
from limen.cli.parameters import AsJson, ConfigFile, begin
from limen.cli.printable import printable
from limen.errors import Unreadable
from limen.shapes import items_of, object_of

__all__ = ["compile_resource", "file_name"]

_ENDINGS: Final = {
    "text/markdown": ".md",
    "text/html": ".html",
    "text/plain": ".txt",
    "application/json": ".json",
    "application/pdf": ".pdf",
}


def compile_resource(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    server: ServerName,
    uri: Annotated[str, typer.Argument(metavar="URI", help="The resource, as its server names it.")],
    brain: Annotated[str | None, typer.Option("--brain", metavar="NAME", help="Id or slug of the brain.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring a resource into a brain.

    Its server, URI, digest and the time are kept with it. The same resource again replaces what came of it before. Do
    this only with servers whose texts may become part of what your agents remember.
    """
    invocation = begin(context, config, as_json)
    reports = run_async(_compile(invocation, server, uri, brain))
    if invocation.output.is_json:
        for report in reports:
            invocation.output.data(report)
        return
    for report in reports:
        what = "already there as" if report["reused"] else "kept as"
        invocation.output.text(printable(f"{what} {report['path']} ({report['chunk_count']} passages)"))


async def _compile(invocation: Invocation, server: str, uri: str, brain: str | None) -> list[dict[str, Any]]:
    async with open_hub(invocation) as hub:
        name = await hub.uri(hub.get(server), uri)
        result = await hub.run("resource", name, {}, TerminalExchange(invocation.output, server))
        uploads = list(_uploads(server, decoded(result)))
        if not uploads:
            raise Unreadable(f"{server} answered nothing for {uri}")
        road = Road(hub.limen)
        return [
            {
                **await road.call("ingest_upload", {**upload, "brain": brain}, kind="operation"),
                "origin": upload["origin"],
            }
            for upload in uploads
        ]


def _uploads(server: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for contents in map(object_of, items_of(result.get("contents"))):
        uri, mime = str(contents.get("uri", "")), str(contents.get("mimeType", ""))
        if isinstance(contents.get("text"), str):
            content = b64encode(contents["text"].encode()).decode()
        else:
            content = str(contents.get("blob", ""))
        if content:
            yield {
                "name": f"{server}/{file_name(uri, mime)}",
                "content": content,
                "content_type": mime.partition(";")[0].strip(),
                "origin": f"mcp:{server}:{uri}",
                "facts": {"mcp_server": server, "mcp_uri": uri},
            }


def file_name(uri: str, mime: str) -> str:
    """What a document made of a resource is called: the end of its URI, with an ending that says what it is."""
    parts = urlsplit(uri)
    last = PurePosixPath(unquote(parts.path)).name or parts.netloc or "resource"
    if parts.query:
        # Two queries are two resources; their names would be the same.
        last = f"{PurePosixPath(last).stem}-{sha256(parts.query.encode()).hexdigest()[:8]}{PurePosixPath(last).suffix}"
    ending = _ENDINGS.get(mime.partition(";")[0].strip(), "")
    return last if PurePosixPath(last).suffix or not ending else f"{last}{ending}"
