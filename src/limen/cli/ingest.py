"""`limen ingest`: takes files, folders and addresses into a brain, many at once, and shows how far it is."""

import asyncio
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from limen.brain.ingest.files import list_files, read_file
from limen.cli.calling import Road, open_road
from limen.cli.invocation import Invocation
from limen.cli.loop import run_async
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.errors import LimenError, Unreadable

__all__ = ["app"]

app = new_app()

AT_ONCE = 64
FIRST_LOOK_S = 0.1
LAST_LOOK_S = 2.0
FAILURES_TOLD = 20


@dataclass(frozen=True, slots=True)
class _Source:
    """Something to take in: a file beneath a folder, or an address."""

    place: str
    name: str = ""
    root: Path | None = None


@dataclass(slots=True)
class _Tally:
    """What came of it."""

    taken: int = 0
    reused: int = 0
    queued: int = 0
    passages: int = 0
    failures: list[str] = field(default_factory=list[str])


@app.command(
    epilog=example("limen ingest notes.md", "limen ingest docs report.pdf", "limen ingest https://example.com")
)
def ingest(  # noqa: PLR0913 - one argument per option
    context: typer.Context,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Files, folders, http addresses.")],
    kind: Annotated[str | None, typer.Option("--as", help="Read as markdown, text, pdf or json.")] = None,
    brain: Annotated[str | None, typer.Option("--brain", metavar="NAME", help="Id or slug of the brain.")] = None,
    waits: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay until big files are read, too.")] = True,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take files, folders and web addresses into a brain.

    Markdown, text, JSON, HTML, PDF, DOCX, PPTX, EPUB and, with the extra `office`, XLSX, up to 25 MiB each; in
    folders, hidden files and kinds that cannot be read are left out. What was taken in before is recognised by its
    content. Files above 2 MiB are queued, and a break does not lose them; `limen brain jobs` tells how far they are.
    """
    invocation = begin(context, config, as_json)
    found = [source for given in sources for source in _sources(given)]
    tally = run_async(_ingest(invocation, found, {"as": kind, "brain": brain}, waits=waits))
    for failure in tally.failures[:FAILURES_TOLD]:
        invocation.output.say(f"{invocation.output.paint('skipped:', 'warn')} {printable(failure)}")
    failed = len(tally.failures)
    told = f"{tally.taken} taken in ({tally.passages} passages), {tally.reused} already here"
    told += f", {tally.queued} queued" if tally.queued else ""
    invocation.output.say(told + (f", {failed} skipped" if failed else ""))
    if failed and failed == len(found):
        raise Unreadable("nothing could be taken in")
    if failed:
        raise typer.Exit(1)


def _sources(given: str) -> Iterator[_Source]:
    if given.lower().startswith(("http://", "https://")):
        yield _Source(given)
        return
    # The person at the keyboard may read whatever the system lets them; a link they name is meant.
    path = Path(given).resolve()
    if not path.is_dir():
        yield _Source(str(path), path.name, path.parent)
        return
    for file in list_files(str(path), [path]):
        yield _Source(file, f"{path.name}/{Path(file).relative_to(path).as_posix()}", path)


async def _ingest(
    invocation: Invocation, sources: Sequence[_Source], options: dict[str, str | None], *, waits: bool
) -> _Tally:
    tally, waiting = _Tally(), asyncio.Semaphore(AT_ONCE)
    async with open_road(invocation) as road:
        with _progress(len(sources)) as advance:

            async def take(source: _Source) -> None:
                async with waiting:
                    report = await _take(road, source, options, tally)
                if waits and report is not None and report["status"] == "queued":
                    report = await _finished(road, report, options["brain"], tally)
                if report is not None:
                    _count(invocation, report, tally)
                advance()

            # The first one alone: it may have to make the brain that the others go into.
            for first in sources[:1]:
                await take(first)
            async with asyncio.TaskGroup() as group:
                for source in sources[1:]:
                    group.create_task(take(source))
    return tally


async def _take(road: Road, source: _Source, options: dict[str, str | None], tally: _Tally) -> dict[str, Any] | None:
    try:
        return await _call(road, source, options)
    except LimenError as error:
        # Told when the bar is gone, which would otherwise be drawn over them.
        tally.failures.append(str(error))
        return None


async def _finished(road: Road, report: dict[str, Any], brain: str | None, tally: _Tally) -> dict[str, Any] | None:
    """The report of a queued file once it is read, by this process or by whichever works on the queue."""
    asked, pause_s = {"brain": brain, "id": report["job_id"]}, FIRST_LOOK_S
    job = await road.call("job_get", asked, kind="operation")
    while job["state"] in ("queued", "running"):
        # Every look is a call on record, so they become rarer.
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, LAST_LOOK_S)
        job = await road.call("job_get", asked, kind="operation")
    if job["state"] == "failed":
        tally.failures.append(job["message"])
        return None
    known = {key: value for key, value in report.items() if key != "embedded_count"}
    return {**known, "status": "completed", "chunk_count": job["chunk_count"]}


def _count(invocation: Invocation, report: dict[str, Any], tally: _Tally) -> None:
    tally.queued += report["status"] == "queued"
    tally.reused += report["reused"]
    tally.taken += report["status"] == "completed" and not report["reused"]
    tally.passages += 0 if report["reused"] else report["chunk_count"]
    if invocation.output.is_json:
        invocation.output.data(report)


async def _call(road: Road, source: _Source, options: dict[str, str | None]) -> dict[str, Any]:
    if source.root is None:
        answer = await road.call("memory_ingest_url", {"url": source.place, "brain": options["brain"]})
        return answer["result"]
    # A file with two names is read all the same: whoever types may read both.
    file = await asyncio.to_thread(read_file, source.place, [source.root], follows_hard_links=True)
    arguments = {"name": source.name, "content": file.content, "origin": file.path, **options}
    return await road.call("ingest_upload", arguments, kind="operation")


@contextmanager
def _progress(total: int) -> Generator[Callable[[], None]]:
    """A bar on a terminal, when there is enough to wait for."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    # Rich takes 60 ms to import, so only whoever looks at a bar pays for it.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("taking in", total=total)
        yield lambda: bar.advance(task)
