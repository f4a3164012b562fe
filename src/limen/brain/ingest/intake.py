"""Takes what comes from outside into a brain: once, under a path of its own, with its origin and trust on record."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from msgspec import Struct, structs

from limen.brain.documents.document import new_document_id
from limen.brain.index.ports import PassageIndex, Trust
from limen.brain.ingest.jobs import Job, JobQueue, JobRequest, Report
from limen.brain.ingest.kinds import As, Kind, kind_of_content
from limen.brain.ingest.limits import MAX_BYTES, Budget
from limen.brain.ingest.readers import Reading, is_conversation, read
from limen.brain.paths import check_path, slug_of
from limen.brain.ports import DocumentStore
from limen.brain.records import ChangeSet, Commit, DocumentId, DocumentRecord, Facts, IngestReport, Metadata, Write
from limen.clock import monotonic, timestamp
from limen.errors import Conflict, FileTooLarge, InvalidPath, LimenError, NotFound

__all__ = ["QUEUED_BYTES", "Intake", "Item"]

QUEUED_BYTES = 2 * 1024 * 1024
"""A file beyond this is read in the background."""
FOLDER = "raw/documents"
NAME_TRIES = 1000
WRITE_TRIES = 20
REPORT_S = 0.25
"""Progress within a stage is told no more often than this: each time is a write to the queue."""
_KEPT = frozenset({"md", "markdown", "txt", "json"})
"""Extensions that stay as they are; all else becomes markdown, and says so in its name."""
_MARKDOWN = frozenset({"md", "markdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something from outside, with its bytes."""

    name: str
    """What it is called; folders in it become folders."""
    content: bytes
    origin: str
    """Where it came from; the same origin again replaces what came from there before."""
    as_: As | None = None
    content_type: str = ""
    """As its sender declares it; its extension and content are looked at all the same."""
    trust: Trust = "untrusted"
    facts: Metadata | None = None
    """Further metadata to keep."""


class Intake:
    """The way in for one brain. Blocking, for worker threads."""

    def __init__(self, store: DocumentStore, index: PassageIndex, jobs: JobQueue, *, embeds: bool) -> None:
        self._store = store
        self._index = index
        self._jobs = jobs
        self._embeds = embeds

    def take(self, item: Item, actor: str, kick: Callable[[], None]) -> IngestReport:
        """Make a document of it, or find the one it already is; `kick` is called when it was queued instead.

        Raises:
            FileTooLarge: it is beyond what is taken in.
            Unreadable: no text can be made of it.
        """
        begun = monotonic()
        placed = self._placed(item, actor, begun)
        if isinstance(placed, IngestReport):
            return placed
        if len(item.content) > QUEUED_BYTES:
            return self._queue(placed.request, item.content, kick, begun)
        draft = self._drafted(placed, item.content, begun)
        return draft if isinstance(draft, IngestReport) else self._written(draft)

    def take_each(
        self, items: Sequence[tuple[Item, str]], kick: Callable[[], None]
    ) -> Sequence[IngestReport | LimenError]:
        """Take in items, each with its actor, as `take` would; what became of each, in their order.

        They are read one after the other and written together: half the work of taking them in side by side.
        """
        outcomes: dict[int, IngestReport | LimenError] = {}
        drafts: dict[int, _Draft] = {}
        seen: set[str] = set()
        for number, (item, actor) in enumerate(items):
            try:
                found = self._draft(item, actor, seen)
            except LimenError as error:
                outcomes[number] = error
            else:
                if isinstance(found, IngestReport):
                    outcomes[number] = found
                elif found is not None:
                    drafts[number] = found
        outcomes |= self._written_each(drafts)
        # Big ones, and those that are or want what another one in front of them is or has.
        for number in range(len(items)):
            if number not in outcomes:
                outcomes[number] = self._taken(*items[number], kick)
        return [outcomes[number] for number in range(len(items))]

    def work(self, job: Job, content: bytes, report: Report) -> int:
        """Do what was queued; returns how many passages it has."""
        progress = _Progress(report)
        progress.tell("reading", 0, 1)
        budget = Budget(job.request.name, tell=lambda done, total: progress.tell("reading", done, total))
        reading = read(content, job.request.name, as_=job.request.as_, declared=job.request.content_type, budget=budget)
        progress.tell("writing", 0, 1)
        _, present = placed = self._place(job.request.path, job.request.origin)
        request = structs.replace(job.request, path=placed[0])
        written = self._written(
            _Draft(request, present, _text(reading, content), _facts(request, reading), monotonic())
        )
        return written.chunk_count

    def _taken(self, item: Item, actor: str, kick: Callable[[], None]) -> IngestReport | LimenError:
        try:
            return self.take(item, actor, kick)
        except LimenError as error:
            return error

    def _draft(self, item: Item, actor: str, seen: set[str]) -> "_Draft | IngestReport | None":
        """What is to be written, or the report of what it already is; None when it is better taken alone."""
        begun = monotonic()
        placed = self._placed(item, actor, begun)
        if isinstance(placed, IngestReport):
            return placed
        marks = {placed.request.hash, placed.request.path}
        if len(item.content) > QUEUED_BYTES or seen & marks:
            return None
        seen |= marks
        return self._drafted(placed, item.content, begun)

    def _placed(self, item: Item, actor: str, begun: float) -> "_Placed | IngestReport":
        if len(item.content) > MAX_BYTES:
            raise FileTooLarge(
                f"{item.name!r}: {len(item.content):,} bytes, and {MAX_BYTES:,} are the most; split it", limit=MAX_BYTES
            )
        digest = sha256(item.content).hexdigest()
        wanted = _path_of(item.name, is_markdown=_becomes_markdown(item))
        path, present = self._place(wanted, item.origin)
        known = self._known(present, digest)
        if known is not None:
            return self._report(known.id, known.path, digest, begun, reused=True)
        return _Placed(_request(item, digest, actor, path, present.id if present else new_document_id()), present)

    def _drafted(self, placed: "_Placed", content: bytes, begun: float) -> "_Draft | IngestReport":
        request = placed.request
        reading = read(content, request.name, as_=request.as_, declared=request.content_type)
        twin = self._twin(request, reading)
        if twin is not None:
            return self._report(twin.id, twin.path, request.hash, begun, reused=True)
        return _Draft(request, placed.present, _text(reading, content), _facts(request, reading), begun)

    def _queue(self, request: JobRequest, content: bytes, kick: Callable[[], None], begun: float) -> IngestReport:
        job = self._jobs.add(request, content)
        kick()
        return IngestReport(
            status="queued",
            document_id=request.document_id,
            path=request.path,
            hash=request.hash,
            chunk_count=0,
            embedded_count=0,
            duration_ms=_since(begun),
            reused=False,
            job_id=job.id,
        )

    def _written(self, draft: "_Draft") -> IngestReport:
        """Write it where it was to go, or beside what somebody else has put there since."""
        for _ in range(WRITE_TRIES):
            try:
                self._store.commit(draft.change_set())
            except Conflict:
                # Another writer was there between the look and the write.
                path, present = self._place(draft.request.path, draft.request.origin)
                draft = structs.replace(draft, request=structs.replace(draft.request, path=path), present=present)
            else:
                return self._report_of(draft)
        raise Conflict(f"name: {draft.request.path!r} is being written by others all the time; try again", field="name")

    def _written_each(self, drafts: "Mapping[int, _Draft]") -> dict[int, IngestReport | LimenError]:
        """What became of those that could be written at once; where another writer was quicker, nothing has."""
        changes = [draft.change_set() for draft in drafts.values()]
        outcomes: dict[int, IngestReport | LimenError] = {}
        for (number, draft), outcome in zip(drafts.items(), self._store.commit_each(changes), strict=True):
            if isinstance(outcome, Commit):
                outcomes[number] = self._report_of(draft)
            elif not isinstance(outcome, Conflict):
                outcomes[number] = outcome
        return outcomes

    def _twin(self, request: JobRequest, reading: Reading) -> DocumentRecord | None:
        """The document that was made of the same bytes under another name."""
        if reading.text is None:
            return None
        digest = sha256(reading.text.encode()).hexdigest()
        # Kept as it is, it has been looked for already.
        same_text = self._store.find_content(digest) if digest != request.hash else ()
        return next((found for found in same_text if found.metadata.get("original_sha256") == request.hash), None)

    def _known(self, present: DocumentRecord | None, digest: str) -> DocumentRecord | None:
        """The document that was made of exactly these bytes: the one from the same origin, or any that holds them."""
        if present is not None and present.metadata.get("original_sha256") == digest:
            return present
        return next(iter(self._store.find_content(digest)), None)

    def _place(self, wanted: str, origin: str) -> tuple[str, DocumentRecord | None]:
        """Where it goes: where it went the last time, else a free path; and what is there now."""
        stem, dot, extension = wanted.rpartition(".")
        for number in range(1, NAME_TRIES):
            path = f"{stem}{dot}{extension}" if number == 1 else f"{stem}-{number}{dot}{extension}"
            try:
                present = self._store.get(path)
            except NotFound:
                if not self._store.exists(path):
                    return path, None
                continue
            if present.metadata.get("origin") == origin:
                return path, present
        raise Conflict(f"name: {wanted!r} and {NAME_TRIES} variants of it are taken; rename it", field="name")

    def _report_of(self, draft: "_Draft") -> IngestReport:
        request, present = draft.request, draft.present
        document = present.id if present else request.document_id
        return self._report(document, request.path, request.hash, draft.begun, reused=False)

    def _report(self, document: DocumentId, path: str, digest: str, begun: float, *, reused: bool) -> IngestReport:
        count = self._index.count(document)
        return IngestReport(
            status="completed",
            document_id=document,
            path=path,
            hash=digest,
            chunk_count=count,
            embedded_count=count if self._embeds else 0,
            duration_ms=_since(begun),
            reused=reused,
        )


class _Placed(Struct, frozen=True):
    """Where an item goes, and what is there now."""

    request: JobRequest
    present: DocumentRecord | None


class _Draft(Struct, frozen=True):
    """An item that was read and is to be written."""

    request: JobRequest
    present: DocumentRecord | None
    text: bytes
    facts: Facts
    begun: float

    def change_set(self) -> ChangeSet:
        """The change that writes it, unless somebody else has been there since."""
        expected = self.present.checksum_sha256 if self.present else ""
        write = Write(self.request.path, self.text, self.facts, expected=expected)
        return ChangeSet(changes=(write,), actor=self.request.actor, reason="ingest")


def _text(reading: Reading, content: bytes) -> bytes:
    return content if reading.text is None else reading.text.encode()


def _facts(request: JobRequest, reading: Reading) -> Facts:
    metadata = {
        **reading.metadata,
        **request.facts,
        "origin": request.origin,
        "original_sha256": request.hash,
        "original_type": reading.content_type,
        "ingested_at": timestamp(),
        "trust": request.trust,
    }
    return Facts(
        title=reading.title,
        source="ingest",
        content_type=reading.stored_type,
        metadata=metadata,
        document_id=request.document_id,
    )


def _request(item: Item, digest: str, actor: str, path: str, document: DocumentId) -> JobRequest:
    return JobRequest(
        name=item.name,
        origin=item.origin,
        hash=digest,
        actor=actor,
        path=path,
        document_id=document,
        as_=item.as_,
        content_type=item.content_type,
        trust=item.trust,
        facts=item.facts or {},
    )


def _becomes_markdown(item: Item) -> bool:
    """Whether what is kept of it is markdown, although its name may say something else.

    Raises:
        Unreadable: no text can be made of it.
    """
    kind: Kind = kind_of_content(item.content, item.name, as_=item.as_, declared=item.content_type)
    if kind == "json":
        return is_conversation(item.content, item.name, declared=item.content_type)
    return kind not in ("markdown", "text")


def _path_of(name: str, *, is_markdown: bool) -> str:
    """A path that keeps the name as people know it, as far as it can be one."""
    parts = [part for part in unicodedata.normalize("NFC", name).replace("\\", "/").split("/") if part.strip(". ")]
    last = parts.pop() if parts else "document"
    stem, dot, extension = last.rpartition(".")
    if not (dot and extension.lower() in (_MARKDOWN if is_markdown else _KEPT)):
        last, stem, extension = f"{last}.md", last, "md"
    path = "/".join([FOLDER, *parts, last])
    try:
        return check_path(path)
    except InvalidPath:
        return f"{FOLDER}/{slug_of(stem, fallback='document')}.{extension.lower()}"


class _Progress:
    """How far a job is, told when its stage changes and now and then in between."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._stage = ""
        self._next = 0.0

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell it, unless that was told a moment ago."""
        if stage != self._stage or done == total or monotonic() >= self._next:
            self._report(stage, done, total)
            self._stage, self._next = stage, monotonic() + REPORT_S


def _since(begun: float) -> int:
    return int((monotonic() - begun) * 1000)
