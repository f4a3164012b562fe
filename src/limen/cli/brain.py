"""`limen brain`: make, list, check, move and put away brains, and look into their past."""

import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from limen.cli.calling import call_once
from limen.cli.invocation import Invocation
from limen.cli.output import Tone
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.table import Column, Table
from limen.errors import InvalidArguments, JournalBroken

__all__ = ["app"]

app = new_app(summary="Make, list, check, move and put away brains.")

Name = Annotated[str, typer.Argument(metavar="BRAIN", help="Id or slug of the brain.")]
MaybeName = Annotated[str | None, typer.Option("--brain", metavar="NAME", help="Id or slug of the brain.")]


@app.command(epilog=example('limen brain create "Work notes"', "limen brain create Research --slug research"))
def create(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What people call it.")],
    slug: Annotated[str | None, typer.Option("--slug", help="Its short name; made from the name without it.")] = None,
    visibility: Annotated[str, typer.Option("--visibility", help="private, tenant or public.")] = "private",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a new, empty brain."""
    invocation = begin(context, config, as_json)
    brain = call_once(invocation, "memory_create_brain", {"name": name, "slug": slug, "visibility": visibility})
    _tell(invocation, brain, f"Created {brain['slug']} ({brain['id']})")


@app.command("list", epilog=example("limen brain list"))
def list_brains(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the brains there are."""
    invocation = begin(context, config, as_json)
    brains = call_once(invocation, "memory_list_brains", {})["items"]
    if invocation.output.is_json:
        invocation.output.data(brains)
        return
    if not brains:
        invocation.output.say("There is no brain yet; `limen remember` makes one.")
        return
    columns = (
        Column("brain", "slug", tone="strong"),
        Column("name", "name"),
        Column("visible to", "visibility"),
        Column("since", "created_at", is_extra=True),
    )
    invocation.output.show(Table(columns, brains))


@app.command(epilog=example("limen brain status", "limen brain status --json"))
def status(context: typer.Context, brain: MaybeName = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Tell what a brain holds, and whether index and git history have caught up."""
    invocation = begin(context, config, as_json)
    found = call_once(invocation, "brain_status", {"brain": brain}, kind="operation")
    if invocation.output.is_json:
        invocation.output.data(found)
        return
    columns = (Column("", "what", tone="quiet"), Column("", "is", wraps=True))
    rows = [{"what": key.replace("_", " "), "is": str(value)} for key, value in found.items()]
    invocation.output.show(Table(columns, rows, has_header=False))


@app.command(epilog=example("limen brain delete old-notes", "limen brain restore old-notes"))
def delete(context: typer.Context, name: Name, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Put a brain away; `limen brain restore` brings it back."""
    invocation = begin(context, config, as_json)
    brain = call_once(invocation, "brain_delete", {"brain": name}, kind="operation")
    _tell(invocation, brain, f"Put away; `limen brain restore {brain['slug']}` brings it back")


@app.command(epilog=example("limen brain restore old-notes"))
def restore(context: typer.Context, name: Name, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Bring back a brain that was put away."""
    invocation = begin(context, config, as_json)
    brain = call_once(invocation, "brain_restore", {"brain": name}, kind="operation")
    _tell(invocation, brain, f"{brain['slug']} is back")


@app.command(epilog=example("limen brain verify", "limen brain verify --brain research"))
def verify(context: typer.Context, brain: MaybeName = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check a brain's journal, files, git history and index against each other."""
    invocation = begin(context, config, as_json)
    report = call_once(invocation, "brain_verify", {"brain": brain}, kind="operation")
    if report["problems"]:
        listed = "\n  ".join(["the brain does not verify:", *report["problems"]])
        raise JournalBroken(listed, problems=report["problems"])
    _tell(invocation, report, f"{report['commits']} commits and {report['documents']} documents, all sound")


@app.command(epilog=example("limen brain reindex"))
def reindex(
    context: typer.Context, brain: MaybeName = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Build a brain's index anew from its documents."""
    invocation = begin(context, config, as_json)
    report = call_once(invocation, "brain_reindex", {"brain": brain}, kind="operation")
    _tell(invocation, report, f"{report['documents']} documents indexed")


@app.command(epilog=example("limen brain export notes.tar.gz"))
def export(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    brain: MaybeName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a brain, with its journal, into one file."""
    invocation = begin(context, config, as_json)
    report = call_once(invocation, "brain_export", {"brain": brain, "target": str(target.absolute())}, kind="operation")
    _tell(invocation, report, f"{report['documents']} documents written to {target}")


@app.command("import", epilog=example("limen brain import notes.tar.gz"))
def import_brain(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A file that `limen brain export` wrote.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take in an exported brain; it is checked before anything of it is seen."""
    invocation = begin(context, config, as_json)
    brain = call_once(invocation, "brain_import", {"source": str(source.absolute())}, kind="operation")
    _tell(invocation, brain, f"Imported {brain['slug']} ({brain['id']})")


@app.command(epilog=example("limen brain history", "limen brain history memory/global/x.md --at 3f2a91"))
def history(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    path: Annotated[str | None, typer.Argument(help="Only the changes of this document.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="COMMIT", help="Print PATH as it was then.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many changes at the most.")] = 50,
    brain: MaybeName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed, newest first, with the journal's and git's commits; or a document as it was."""
    invocation = begin(context, config, as_json)
    if at is not None:
        if path is None:
            raise InvalidArguments("path: name the document to read, as in `limen brain history PATH --at COMMIT`")
        found = call_once(invocation, "document_read", {"brain": brain, "path": path, "at": at}, kind="operation")
        _print_content(found["content"])
        return
    commits = call_once(invocation, "brain_history", {"brain": brain, "path": path, "limit": limit}, kind="operation")[
        "items"
    ]
    if invocation.output.is_json:
        invocation.output.data(commits)
        return
    columns = (
        Column("commit", "short", width=10, tone="strong"),
        Column("git", "git", width=8, tone="quiet"),
        Column("when", "at", width=19),
        Column("who", "actor", width=16, is_extra=True),
        Column("why", "reason", width=12),
        Column("what", "what", fills=True),
    )
    invocation.output.show(Table(columns, [_row(commit) for commit in commits]))


@app.command(epilog=example("limen brain jobs", "limen brain jobs job_01jz8k --json"))
def jobs(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    ident: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only this one.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many files at the most.")] = 20,
    brain: MaybeName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List the big files that are read in the background, newest first, and how far each is."""
    invocation = begin(context, config, as_json)
    if ident is None:
        found = call_once(invocation, "job_list", {"brain": brain, "limit": limit}, kind="operation")["items"]
    else:
        found = [call_once(invocation, "job_get", {"brain": brain, "id": ident}, kind="operation")]
    if invocation.output.is_json:
        invocation.output.data(found if ident is None else found[0])
        return
    if not found:
        invocation.output.say("No file was ever queued here; small ones are read at once.")
        return
    tones: Mapping[str, Tone] = {"done": "ok", "failed": "fail"}
    columns = (
        Column("job", "id", width=30, tone="strong"),
        Column("state", "state", width=7, tones=tones),
        Column("stage", "stage", width=8),
        Column("done", "progress", width=9, align="right"),
        Column("file", "told", fills=True, wraps=True),
    )
    invocation.output.show(Table(columns, [_job_row(job) for job in found]))


def _job_row(job: Mapping[str, Any]) -> Mapping[str, str]:
    told = job["request"]["path"]
    return {
        "id": job["id"],
        "state": job["state"],
        "stage": job["stage"],
        "progress": f"{job['done']}/{job['total']}",
        "told": f"{told}: {job['message']}" if job["message"] else told,
    }


def _row(commit: Mapping[str, Any]) -> Mapping[str, str]:
    changes: Sequence[Mapping[str, Any]] = commit["operations"]
    what = ", ".join(f"{change['kind']} {change['path']}" for change in changes[:3])
    rest = len(changes) - 3
    return {
        "short": commit["id"][:10],
        "git": commit["git_sha"][:8] or "soon",
        "at": commit["at"][:19].replace("T", " "),
        "actor": commit["actor"],
        "reason": commit["reason"],
        "what": f"{what} and {rest} more" if rest > 0 else what,
    }


def _print_content(encoded: str) -> None:
    # The document's own bytes, whatever they are: this is for a file or a pager.
    sys.stdout.flush()
    sys.stdout.buffer.write(b64decode(encoded))
    sys.stdout.buffer.flush()


def _tell(invocation: Invocation, data: object, line: str) -> None:
    if invocation.output.is_json:
        invocation.output.data(data)
    else:
        invocation.output.text(line)
