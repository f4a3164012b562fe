"""One brain in use: its documents, its index and the search over them, reached from the event loop.

Everything behind it blocks and runs in worker threads; a change that has begun there is finished even when the
one who asked is gone.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from limen.brain.documents.vault import Vault
from limen.brain.git.follower import GitFollower
from limen.brain.index.ports import Trust
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.addresses import FetchRules
from limen.brain.ingest.desk import Desk, is_quick
from limen.brain.ingest.fetching import fetch
from limen.brain.ingest.files import read_file
from limen.brain.ingest.intake import Intake, Item
from limen.brain.ingest.jobs import JobQueue, JobRunner
from limen.brain.ingest.kinds import As
from limen.brain.markdown import read_frontmatter, title_of
from limen.brain.paths import slug_of, tool_path
from limen.brain.records import Brain, ChangeSet, Commit, DocumentRecord, Facts, IngestReport, Metadata, Note, Write
from limen.brain.retrieval.following import Follower
from limen.brain.retrieval.search import SearchAnswer, Searcher, SearchRequest
from limen.brain.rules import BrainRules
from limen.errors import Conflict

__all__ = ["OpenBrain"]

T = TypeVar("T")
NAME_TRIES = 1000
FIRST_WORDS = 80


@dataclass(frozen=True, slots=True)
class OpenBrain:
    """A brain that is open in this process."""

    brain: Brain
    store: Vault
    index: SqlitePassageIndex
    follower: Follower
    searcher: Searcher
    git: GitFollower
    jobs: JobQueue
    runner: JobRunner
    intake: Intake
    desk: Desk
    rules: BrainRules
    fetching: FetchRules
    executor: Executor

    def start(self) -> None:
        """Take up what happened while nobody looked: edited files, commits that git lacks, files that wait."""
        self.store.notice()
        self.git.start()
        if self.jobs.has_pending():
            self.runner.kick()
        if self.rules.watches:
            self.store.watch()

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Do something that blocks, away from the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, work, *arguments)

    async def commit(self, change_set: ChangeSet) -> Commit:
        """Make changes; when this returns they cannot be lost, and the next search knows them."""
        return await self.run(self.store.commit, change_set)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Find passages, in what is there at this moment."""
        return await self.run(self._search, request)

    async def remember(self, note: Note, *, actor: str) -> DocumentRecord:
        """Keep a note: at its path, replacing what is there, or else at a free one made from its title."""
        return await self.run(self._remember, note, actor)

    async def ingest_bytes(  # noqa: PLR0913 - each is a fact about the file
        self,
        name: str,
        content: bytes,
        as_: As | None,
        *,
        origin: str,
        actor: str,
        content_type: str = "",
        trust: Trust = "untrusted",
        facts: Metadata | None = None,
    ) -> IngestReport:
        """Take in the bytes of a file; a big one is queued.

        Raises:
            FileTooLarge: it is beyond what is taken in.
            Unreadable: no text can be made of it.
        """
        item = Item(
            name=name,
            content=content,
            origin=origin,
            as_=as_,
            content_type=content_type,
            trust=trust,
            facts=facts,
        )
        if is_quick(item):
            return await self.desk.take(item, actor)
        return await self.run(self.intake.take, item, actor, self.runner.kick)

    async def ingest_file(self, path: str, as_: As | None, *, actor: str) -> IngestReport:
        """Take in a file of this machine, from one of the folders that tools may read.

        Raises:
            Denied: it lies outside of them.
            NotFound: there is no such file.
        """
        return await self.run(self._ingest_file, path, as_, actor)

    async def ingest_url(self, url: str, *, actor: str) -> IngestReport:
        """Fetch an address and take in what is readable of it.

        Raises:
            FetchRefused: it must not be fetched from here.
            FetchFailed: it could not be.
        """
        fetched = await fetch(url, self.fetching)
        item = Item(
            name=_name_of(fetched.final_url),
            content=fetched.body,
            origin=fetched.url,
            content_type=fetched.content_type,
            facts={"source_url": fetched.final_url, "fetched_at": fetched.fetched_at},
        )
        return await self.run(self.intake.take, item, actor, self.runner.kick)

    def close(self) -> None:
        """Let go of it; git is given a moment to catch up."""
        self.runner.close()
        self.jobs.close()
        self.git.close()
        self.index.close()
        self.store.close()

    def _ingest_file(self, path: str, as_: As | None, actor: str) -> IngestReport:
        file = read_file(path, self.rules.file_roots)
        item = Item(name=file.name, content=file.content, origin=str(file.path), as_=as_)
        return self.intake.take(item, actor, self.runner.kick)

    def _search(self, request: SearchRequest) -> SearchAnswer:
        return self.follower.fresh(lambda: self.searcher.search(request))

    def _remember(self, note: Note, actor: str) -> DocumentRecord:
        metadata = dict(note.metadata)
        if note.tags:
            metadata["tags"] = ",".join(note.tags)
        title = note.title or _title(note.content)
        facts = Facts(title=title, source="ingest", content_type="text/markdown", metadata=metadata)
        content = note.content.encode()
        if note.path:
            path = tool_path(note.path)
            self._write(Write(path, content, facts), actor)
            return self.store.get(path)
        return self._write_somewhere(content, facts, actor)

    def _write_somewhere(self, content: bytes, facts: Facts, actor: str) -> DocumentRecord:
        stem = slug_of(facts.title or "", fallback="note")
        for number in range(1, NAME_TRIES):
            path = f"memory/global/{stem}.md" if number == 1 else f"memory/global/{stem}-{number}.md"
            if self.store.exists(path):
                continue
            try:
                self._write(Write(path, content, facts, expected=""), actor)
            except Conflict:
                # Another writer took the name between the look and the write.
                continue
            return self.store.get(path)
        raise Conflict(f"path: {stem!r} and {NAME_TRIES} variants of it are taken; give a path", field="path")

    def _write(self, write: Write, actor: str) -> Commit:
        return self.store.commit(ChangeSet(changes=(write,), actor=actor, reason="remember"))


def _title(content: str) -> str | None:
    """What a note without a title is called: by its own heading, else by its first words."""
    found = title_of(read_frontmatter(content), content)
    if found is not None:
        return found
    first = next((line.strip() for line in content.splitlines() if line.strip()), "")
    return first if len(first) <= FIRST_WORDS else first[:FIRST_WORDS].rpartition(" ")[0] or first[:FIRST_WORDS]


def _name_of(url: str) -> str:
    """What a fetched page is called: its host, then its path."""
    parts = urlsplit(url)
    stem, dot, extension = parts.path.strip("/").rpartition(".")
    words = slug_of(stem or parts.path, fallback="index", limit=100)
    return (
        f"{parts.hostname}/{words}"
        + (f"-{slug_of(parts.query, fallback='q')}" if parts.query else "")
        + (f".{extension}" if dot and extension.isalnum() else ".html")
    )
