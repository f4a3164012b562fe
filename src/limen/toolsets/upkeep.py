"""Operations `upkeep`: looking after whole brains, for the owner at the command line; no address leads here."""

from pathlib import Path
from typing import Any

import msgspec

from limen.brain.access import BrainAccess
from limen.brain.openbrain import OpenBrain
from limen.brain.records import Brain
from limen.calls.call import Call
from limen.toolsets.operations import Operation, Operations

__all__ = ["upkeep_operations"]


class _Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of an operation; what is not named is refused."""


class BrainArgs(_Args, frozen=True, kw_only=True):
    """Which brain is meant; the default one when it is left out."""

    brain: str | None = None


class NamedArgs(_Args, frozen=True, kw_only=True):
    """Which brain is meant."""

    brain: str


class ExportArgs(_Args, frozen=True, kw_only=True):
    """What is written where."""

    target: str
    brain: str | None = None


class ImportArgs(_Args, frozen=True, kw_only=True):
    """What is read."""

    source: str


def upkeep_operations(brains: BrainAccess) -> Operations:
    """The operations over these brains."""
    upkeep = _Upkeep(brains)
    return Operations(
        "upkeep",
        [
            Operation("brain_status", "Tell what a brain holds.", BrainArgs, upkeep.status),
            Operation("brain_verify", "Check a brain against itself.", BrainArgs, upkeep.verify, tier="admin"),
            Operation("brain_reindex", "Build an index anew.", BrainArgs, upkeep.reindex, "write", "admin"),
            Operation("brain_export", "Write a brain into a file.", ExportArgs, upkeep.export, "write", "admin"),
            Operation("brain_import", "Take in an exported brain.", ImportArgs, upkeep.take_in, "write", "admin"),
            Operation("brain_restore", "Bring back a deleted brain.", NamedArgs, upkeep.restore, "write", "admin"),
        ],
    )


class _Upkeep:
    def __init__(self, brains: BrainAccess) -> None:
        self._brains = brains

    async def status(self, args: BrainArgs, call: Call) -> dict[str, Any]:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(_status, opened)

    async def verify(self, args: BrainArgs, call: Call) -> dict[str, Any]:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(_verified, opened)

    async def reindex(self, args: BrainArgs, call: Call) -> dict[str, Any]:
        opened = await (await self._brains.get()).open(args.brain)
        await opened.run(opened.follower.rebuild)
        return {"documents": await opened.run(opened.store.count), "commits": await opened.run(opened.index.applied)}

    async def export(self, args: ExportArgs, call: Call) -> dict[str, Any]:
        opened = await (await self._brains.get()).open(args.brain)
        await (await self._brains.get()).export(opened.brain, Path(args.target))
        return {"brain": opened.brain.slug, "target": args.target, "documents": await opened.run(opened.store.count)}

    async def take_in(self, args: ImportArgs, call: Call) -> Brain:
        return await (await self._brains.get()).take_in(Path(args.source))

    async def restore(self, args: NamedArgs, call: Call) -> Brain:
        return await (await self._brains.get()).restore(args.brain)


def _status(opened: OpenBrain) -> dict[str, Any]:
    lag = opened.git.lag()
    head, applied = opened.store.head(), opened.index.applied()
    embedded, passages = opened.index.embedding_progress()
    return {
        "brain": opened.brain.slug,
        "id": opened.brain.id,
        "folder": str(opened.store.root),
        "documents": opened.store.count(),
        "commits": head,
        "passages": passages,
        "embedded": embedded,
        "index_behind": head - applied,
        "git_behind": lag.commits,
        "git_behind_s": round(lag.seconds, 1),
        "git_trouble": lag.failure or lag.unpublished or "none",
        "jobs_waiting": sum(job.state in {"queued", "running"} for job in opened.jobs.list()),
    }


def _verified(opened: OpenBrain) -> dict[str, Any]:
    opened.follower.follow()
    problems = [*opened.store.verify(), *opened.index.verify()]
    return {"problems": problems, "commits": opened.store.head(), "documents": opened.store.count()}
