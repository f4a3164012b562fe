"""`limen mcp marketplace`: find servers in an MCP registry, look at one, and bring it in, or one from a bundle."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from limen.cli.asking import confirm
from limen.cli.diffs import diff
from limen.cli.invocation import Invocation
from limen.cli.loading import read_settings
from limen.cli.loop import run_async
from limen.cli.mcp.changing import DryRun, apply
from limen.cli.mcp.entries import Edit, open_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.cli.table import Column, Table
from limen.config.foreign.naming import fit_name
from limen.config.load import require
from limen.errors import InvalidArguments
from limen.gateway.registry.bundles import Bundle, draft_bundle, open_bundle
from limen.gateway.registry.client import Registry
from limen.gateway.registry.drafting import draft_entry
from limen.gateway.registry.placeholders import Draft
from limen.gateway.registry.records import Listed, ServerRecord
from limen.shapes import is_array

__all__ = ["app"]

app = new_app(summary="Find servers in an MCP registry, and bring them in.")

RegistryUrl = Annotated[
    str | None, typer.Option("--registry", metavar="URL", help="Ask this one instead of `registry.url`.")
]
Version = Annotated[str, typer.Option("--version", help="Which version of it.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its whole name, such as com.example/weather.")]


@app.command(epilog=example("limen mcp marketplace search weather"))
def search(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help="Part of a name.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many at the most.")] = 20,
    registry: RegistryUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Find servers by their names."""
    invocation = begin(context, config, as_json)
    found = run_async(_registry(invocation, registry).search(" ".join(words), limit))
    if invocation.output.is_json:
        invocation.output.data([_row(listed) for listed in found])
        return
    if not found:
        invocation.output.say("Nothing found.")
        return
    columns = (
        Column("NAME", "name", tone="strong"),
        Column("VERSION", "version"),
        Column("COMES AS", "kinds"),
        Column("", "description", wraps=True),
    )
    shown = [{**row, "kinds": ", ".join(row["kinds"])} for row in map(_row, found)]
    invocation.output.show(Table(columns, shown))


@app.command(epilog=example("limen mcp marketplace show com.example/weather"))
def show(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    name: Name,
    version: Version = "latest",
    registry: RegistryUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one server, and the entry that would be added for it."""
    invocation = begin(context, config, as_json)
    listed = run_async(_registry(invocation, registry).get(name, version))
    server = fit_name(name.rpartition("/")[2])
    try:
        draft, reason = draft_entry(listed.server, server), None
    except InvalidArguments as error:
        draft, reason = Draft(), str(error)
    if invocation.output.is_json:
        invocation.output.data({**_row(listed), **_told(draft), "reason": reason})
        return
    rows = [{"what": key, "is": _shown(value)} for key, value in _row(listed).items() if value]
    rows += [{"what": key, "is": _shown(value)} for key, value in draft.entry.items()]
    columns = (Column("", "what", tone="quiet"), Column("", "is", wraps=True))
    invocation.output.show(Table(columns, rows, has_header=False))
    _remarks(invocation, draft)
    if reason:
        invocation.output.say(f"{invocation.output.paint('warning:', 'warn')} {printable(reason)}")


@app.command(
    epilog=example(
        "limen mcp marketplace add com.example/weather --dry-run",
        "limen mcp marketplace add ./weather.mcpb --as weather --yes",
    )
)
def add(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A server of the registry, or an .mcpb file.")],
    alias: Annotated[str | None, typer.Option("--as", metavar="NAME", help="What to call it here.")] = None,
    version: Version = "latest",
    registry: RegistryUrl = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Put it in, switched off.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Put a server of the registry, or a bundle, into the settings.

    Programs come before addresses, with the very version that the registry names. What the server leaves to you is
    written as a variable. Registries let nearly everybody in: look at what is shown before you say yes.
    """
    invocation = begin(context, config, as_json)
    if name.endswith((".mcpb", ".dxt")):
        offer = _bundle_offer(invocation, Path(name), alias)
    else:
        offer = _registry_offer(invocation, name, version, registry, alias)
    if disabled:
        offer.draft.entry["enabled"] = False
    edit = open_settings(invocation).add(offer.server, offer.draft.entry)
    if not invocation.output.is_json:
        _present(invocation, offer.draft, edit)
    elif dry_run:
        _remarks(invocation, offer.draft)
    if dry_run or confirm(invocation, f"Add {offer.server}?", is_given=yes):
        if offer.bundle is not None and not dry_run:
            offer.bundle.unpack()
        apply(invocation, edit, f"Added {offer.server}", dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class _Offer:
    """A server that could be added, under this name."""

    server: str
    draft: Draft
    bundle: Bundle | None = None


def _registry_offer(invocation: Invocation, name: str, version: str, registry: str | None, alias: str | None) -> _Offer:
    listed = run_async(_registry(invocation, registry).get(name, version))
    server = alias or fit_name(name.rpartition("/")[2])
    draft = draft_entry(listed.server, server)
    if listed.status != "active":
        draft.notes.append(f"the registry calls it {listed.status}")
    return _Offer(server, draft)


def _bundle_offer(invocation: Invocation, file: Path, alias: str | None) -> _Offer:
    bundle = open_bundle(file, read_settings(invocation).paths.data_dir / "bundles")
    server = alias or fit_name(bundle.manifest.name)
    return _Offer(server, draft_bundle(bundle, server), bundle)


def _registry(invocation: Invocation, given: str | None) -> Registry:
    url = given or require(read_settings(invocation)).registry.url
    if not url:
        raise InvalidArguments(
            "no registry is set", fix="set `registry.url` in the settings, or give --registry URL", field="registry.url"
        )
    if not url.startswith(("https://", "http://")):
        raise InvalidArguments(f"--registry: {url!r} is no HTTP address", field="registry")
    return Registry(url)


def _row(listed: Listed) -> dict[str, Any]:
    server = listed.server
    return {
        "name": server.name,
        "version": server.version,
        "status": listed.status,
        "description": server.description,
        "kinds": _kinds(server),
        "repository": server.repository.url if server.repository else None,
    }


def _kinds(server: ServerRecord) -> Sequence[str]:
    packages = [package.registry_type or "package" for package in server.packages or ()]
    return list(dict.fromkeys([*packages, *(remote.type for remote in server.remotes or ())]))


def _told(draft: Draft) -> dict[str, Any]:
    needs = [
        {"name": needed.name, "description": needed.description, "secret": needed.is_secret} for needed in draft.needs
    ]
    return {"entry": draft.entry or None, "needs": needs, "notes": draft.notes}


def _present(invocation: Invocation, draft: Draft, edit: Edit) -> None:
    invocation.output.say(diff(edit.state.text, edit.text, str(edit.state.path)))
    _remarks(invocation, draft)


def _remarks(invocation: Invocation, draft: Draft) -> None:
    output = invocation.output
    for needed in draft.needs:
        about = f": {needed.description}" if needed.description else ""
        output.say(printable(f"set {needed.name}{about}{' (a secret)' if needed.is_secret else ''}"))
    for note in draft.notes:
        output.say(f"{output.paint('note:', 'warn')} {printable(note)}")


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if is_array(value) else str(value)
