"""Operations `store`: the documents of a brain, one change or many at once, their history and their news.

Nothing here is a tool: agents use `memory`, programs use this, over REST or the command line, on the same road.
"""

from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from typing import Any

import msgspec

from limen.brain.access import BrainAccess
from limen.brain.documents.headwatch import HeadWatch
from limen.brain.index.ports import Filters
from limen.brain.ingest.jobs import Job
from limen.brain.openbrain import OpenBrain
from limen.brain.ports import LIST_LIMIT, DocumentStore
from limen.brain.records import Brain, BrainId, CommitId, DocumentRecord, IngestReport
from limen.brain.retrieval.answers import SearchRequest
from limen.brain.retrieval.dates import read_day
from limen.calls.call import Call
from limen.errors import InvalidArguments, NoBrain
from limen.toolsets.memoryshapes import answer_on_wire
from limen.toolsets.operations import Operation, Operations
from limen.toolsets.storechanges import SingleChange, change_many, change_one, create
from limen.toolsets.storenews import follow
from limen.toolsets.storeshapes import (
    AppendArgs,
    BatchArgs,
    BrainArgs,
    Committed,
    CreateArgs,
    DeleteArgs,
    Document,
    EventsArgs,
    History,
    HistoryArgs,
    IngestArgs,
    JobArgs,
    Jobs,
    JobsArgs,
    ListArgs,
    Listing,
    News,
    PutArgs,
    ReadArgs,
    RenameArgs,
    SearchArgs,
    Stat,
    StatArgs,
    Written,
)

__all__ = ["store_operations"]


def store_operations(brains: BrainAccess) -> Operations:
    """The operations over these brains."""
    store = _Store(brains)
    return Operations(
        "store",
        [
            Operation("brain_get", "Tell about one brain.", BrainArgs, store.get_brain),
            Operation("brain_delete", "Put a brain away.", BrainArgs, store.delete_brain, "destructive", "admin"),
            Operation("brain_history", "List the newest commits.", HistoryArgs, store.history),
            Operation("document_read", "Read a document.", ReadArgs, store.read),
            Operation("document_stat", "Tell size and time of a document or folder.", StatArgs, store.stat),
            Operation("document_list", "List a folder.", ListArgs, store.list),
            Operation("document_create", "Make a new document.", CreateArgs, store.create, "write", "write"),
            Operation("document_put", "Write a document.", PutArgs, store.change, "write", "write"),
            Operation("document_append", "Add to a document.", AppendArgs, store.change, "write", "write"),
            Operation("document_delete", "Take a document away.", DeleteArgs, store.change, "write", "write"),
            Operation("document_rename", "Move a document.", RenameArgs, store.change, "write", "write"),
            Operation("document_batch", "Make many changes at once.", BatchArgs, store.batch, "write", "write"),
            Operation("brain_search", "Find passages.", SearchArgs, store.search),
            Operation("ingest_upload", "Take in the bytes of a file.", IngestArgs, store.upload, "write", "write"),
            Operation("job_get", "Tell how far a file on its way in is.", JobArgs, store.get_job),
            Operation("job_list", "List the files on their way in.", JobsArgs, store.list_jobs),
            Operation("events_open", "Tell changes as they happen.", EventsArgs, store.follow),
        ],
    )


class _Store:
    def __init__(self, brains: BrainAccess) -> None:
        self._brains = brains
        self._watches: dict[BrainId, tuple[OpenBrain, HeadWatch]] = {}

    async def get_brain(self, args: BrainArgs, call: Call) -> Brain:
        return (await (await self._brains.get()).open(args.brain)).brain

    async def delete_brain(self, args: BrainArgs, call: Call) -> Brain:
        # A default must never decide what is taken away.
        if args.brain is None:
            raise InvalidArguments("brain: name the brain to delete", field="brain")
        return await (await self._brains.get()).delete(args.brain)

    async def history(self, args: HistoryArgs, call: Call) -> History:
        opened = await (await self._brains.get()).open(args.brain)
        commits = await opened.run(lambda: opened.store.commits(path=args.path, before=args.before, limit=args.limit))
        return History(brain=opened.brain, items=commits)

    async def read(self, args: ReadArgs, call: Call) -> Document:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(_read, opened.store, args)

    async def stat(self, args: StatArgs, call: Call) -> Stat:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(_stat, opened.store, args.path)

    async def list(self, args: ListArgs, call: Call) -> Listing:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(_list, opened.store, args)

    async def create(self, args: CreateArgs, call: Call) -> DocumentRecord:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(create, opened.store, args, call.caller.subject)

    async def change(self, args: SingleChange, call: Call) -> Written:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(change_one, opened.store, args, call.caller.subject)

    async def batch(self, args: BatchArgs, call: Call) -> Committed:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(change_many, opened.store, args, call.caller.subject)

    async def search(self, args: SearchArgs, call: Call) -> Mapping[str, Any]:
        opened = await (await self._brains.get()).open(args.brain)
        answer = await opened.search(
            SearchRequest(
                query=args.query,
                limit=args.top_k,
                mode=args.mode,
                filters=_filters(args),
                sort=args.sort,
                question_date=args.question_date or None,
                explain=args.explain,
            )
        )
        return answer_on_wire(args.query, opened.brain, answer)

    async def upload(self, args: IngestArgs, call: Call) -> IngestReport:
        opened = await (await self._brains.get()).open(args.brain, create=True)
        origin = args.origin or f"upload:{args.name}"
        return await opened.ingest_bytes(
            args.name,
            args.content,
            args.as_,
            origin=origin,
            actor=call.caller.subject,
            content_type=args.content_type,
            facts=args.facts,
        )

    async def get_job(self, args: JobArgs, call: Call) -> Job:
        opened = await (await self._brains.get()).open(args.brain)
        return await opened.run(opened.jobs.get, args.id)

    async def list_jobs(self, args: JobsArgs, call: Call) -> Jobs:
        opened = await (await self._brains.get()).open(args.brain)
        return Jobs(items=await opened.run(opened.jobs.list, args.limit))

    async def follow(self, args: EventsArgs, call: Call) -> None:
        """Tell each change as the message of a progress report; ends with its caller only."""
        opened = await (await self._brains.get()).open(args.brain)
        told = count(1)

        async def tell(news: News) -> None:
            await call.exchange.progress(next(told), message=msgspec.json.encode(news).decode())

        await follow(opened, self._watch(opened), args.after, args.quiet_s, tell)

    def _watch(self, opened: OpenBrain) -> HeadWatch:
        known = self._watches.get(opened.brain.id)
        # A brain that was restored is opened anew, and the watch of the one before looks at a closed store.
        if known is None or known[0] is not opened:
            known = self._watches[opened.brain.id] = (opened, HeadWatch(lambda: self._head(opened)))
        return known[1]

    async def _head(self, opened: OpenBrain) -> int:
        # Whoever still holds a file of a brain that was put away would see it stand still for ever.
        if await (await self._brains.get()).open(opened.brain.id) is not opened:
            raise NoBrain("the brain was put away; open its events anew")
        return await opened.run(opened.store.head)


def _read(store: DocumentStore, args: ReadArgs) -> Document:
    content = store.read_at(args.path, CommitId(args.at)) if args.at else store.read(args.path)
    return Document(path=args.path, content=content, checksum_sha256=sha256(content).hexdigest())


def _stat(store: DocumentStore, path: str) -> Stat:
    stat = store.stat(path)
    known = msgspec.structs.asdict(stat)
    if stat.is_dir:
        return Stat(**known)
    record = store.get(path)
    return Stat(**known, checksum_sha256=record.checksum_sha256, content_type=record.content_type)


def _list(store: DocumentStore, args: ListArgs) -> Listing:
    items = store.list(args.folder, recursive=args.recursive, glob=args.glob, include_generated=args.include_generated)
    return Listing(items=items[:LIST_LIMIT], truncated=len(items) >= LIST_LIMIT)


def _filters(args: SearchArgs) -> Filters:
    wanted = args.filters
    return Filters(
        scopes=frozenset() if args.scope == "all" else frozenset({args.scope}),
        project=wanted.project,
        tags=frozenset(wanted.tags),
        path_prefix=wanted.path_prefix,
        paths=frozenset(wanted.paths),
        kinds=frozenset({wanted.type} if wanted.type else ()),
        first_day=read_day(wanted.since, field="filters.since") if wanted.since else None,
        last_day=read_day(wanted.until, field="filters.until") if wanted.until else None,
        trust=wanted.trust,
    )
