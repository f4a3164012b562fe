"""The brains this hub keeps: opened when they are first used, closed together; who may use them is not its matter."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from limen.brain.documents.vault import open_vault
from limen.brain.git.follower import GitFollower
from limen.brain.git.history import GitPast
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.addresses import FetchRules, fetch_rules
from limen.brain.ingest.desk import Desk
from limen.brain.ingest.intake import Intake
from limen.brain.ingest.jobs import JobQueue, JobRunner
from limen.brain.ingest.pages import page_of
from limen.brain.library import Library
from limen.brain.openbrain import OpenBrain
from limen.brain.records import Brain, BrainId, Visibility
from limen.brain.retrieval.following import Follower
from limen.brain.retrieval.search import Searcher
from limen.brain.rules import BrainRules
from limen.brain.transfer import export_brain, import_brain
from limen.models.embedders import open_embedder
from limen.models.ports import Embedder

__all__ = ["Brains", "open_brains"]

log = logging.getLogger(__name__)

THREADS = 32
T = TypeVar("T")


@asynccontextmanager
async def open_brains(folder: Path, rules: BrainRules) -> AsyncGenerator["Brains", None]:
    """The brains beneath a folder, which need not exist yet; nothing is touched before the first use.

    Raises:
        ConfigInvalid: a rule cannot be followed.
    """
    embedder = open_embedder(rules.embedder)
    # Threads are started by the pool when there is work for them.
    with ThreadPoolExecutor(THREADS, "limen-brain") as executor:
        brains = Brains(Library(folder), rules, fetch_rules(rules.fetch_hosts), embedder, executor)
        try:
            yield brains
        finally:
            await brains.aclose()


@dataclass(slots=True)
class Brains:
    """Every brain of this hub."""

    library: Library
    rules: BrainRules
    fetching: FetchRules
    embedder: Embedder | None
    executor: ThreadPoolExecutor
    _open: dict[BrainId, OpenBrain] = field(default_factory=dict[BrainId, OpenBrain])
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def list(self) -> Sequence[Brain]:
        """Every brain, the oldest first."""
        return await self._run(self.library.list)

    async def get(self, name: str) -> Brain:
        """The brain of this id or slug.

        Raises:
            NoBrain: there is none.
        """
        return await self._run(self.library.get, name)

    async def create(self, name: str, slug: str | None = None, visibility: Visibility = "private") -> Brain:
        """Make a new, empty brain.

        Raises:
            InvalidArguments: the name or slug cannot be one.
            Conflict: the slug is taken.
        """
        return await self._run(self.library.create, name, slug, visibility)

    async def delete(self, name: str) -> Brain:
        """Put a brain away; it can be restored until the trash is emptied.

        Raises:
            NoBrain: there is none.
        """
        brain = await self.get(name)
        async with self._opening:
            opened = self._open.pop(brain.id, None)
            if opened is not None:
                await self._run(opened.close)
            await self._run(self.library.delete, brain.slug)
        return brain

    async def restore(self, name: str) -> Brain:
        """Bring back a brain that was put away.

        Raises:
            NotFound: none was put away under this name.
            Conflict: another brain has its slug now.
        """
        return await self._run(self.library.restore, name)

    async def export(self, brain: Brain, target: Path) -> None:
        """Write a brain into one file."""
        await self._run(export_brain, self.library, brain.slug, target)

    async def take_in(self, source: Path) -> Brain:
        """Make a brain out of an exported one, once all of it is checked."""
        return await self._run(import_brain, self.library, source)

    async def open(self, name: str | None = None, *, create: bool = False) -> OpenBrain:
        """The brain of this name, or the default one; with `create`, the very first one is made when there is none.

        Raises:
            NoBrain: there is none.
        """
        brain = await self._run(self._resolve, name, create)
        opened = self._open.get(brain.id)
        if opened is not None:
            return opened
        async with self._opening:
            opened = self._open.get(brain.id)
            if opened is None:
                opened = self._open[brain.id] = await self._run(self._open_now, brain)
            return opened

    async def aclose(self) -> None:
        """Let go of every brain."""
        for opened in self._open.values():
            await self._run(opened.close)
        self._open.clear()

    def _resolve(self, name: str | None, create: bool) -> Brain:  # noqa: FBT001 - handed on through the pool
        return self.library.resolve(name, self.rules.default, create=create)

    def _open_now(self, brain: Brain) -> OpenBrain:
        root = self.library.folder_of(brain)
        own = root / ".limen"
        vault = open_vault(root, brain.id, past=GitPast(root))
        index = SqlitePassageIndex(own / "index.db", self.embedder)
        follower = Follower(vault, index, page_of)
        vault.on_committed(follower.follow)
        jobs = JobQueue(own / "jobs.db")
        intake = Intake(vault, index, jobs, embeds=self.embedder is not None)
        runner = JobRunner(jobs, own / "jobs.lock", intake.work)
        opened = OpenBrain(
            brain=brain,
            store=vault,
            index=index,
            follower=follower,
            searcher=Searcher(index, self.embedder),
            git=GitFollower(vault, root),
            jobs=jobs,
            runner=runner,
            intake=intake,
            desk=Desk(lambda items: self._run(intake.take_each, items, runner.kick)),
            rules=self.rules,
            fetching=self.fetching,
            executor=self.executor,
        )
        opened.start()
        return opened

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.executor, work, *arguments)
