"""REST for the documents of a brain: read, write, list, move, and many changes at once."""

from typing import Final

import msgspec

from limen.brain.records import Append, Change, Delete, DocumentRecord, Facts, Rename, Write
from limen.errors import InvalidArguments, NotFound, TooLarge
from limen.toolsets.memoryschemas import DOCUMENT
from limen.toolsets.storeshapes import (
    AppendArgs,
    BatchArgs,
    Committed,
    CreateArgs,
    DeleteArgs,
    Document,
    ListArgs,
    Listing,
    PutArgs,
    ReadArgs,
    RenameArgs,
    Stat,
    StatArgs,
    Written,
)
from limen.web.bodies import (
    AppendOp,
    BatchBody,
    BatchOp,
    DeleteOp,
    DocumentBody,
    ListQuery,
    PathQuery,
    RenameBody,
    RenameOp,
    WriteOp,
)
from limen.web.reading import read_tags
from limen.web.routes import OCTETS, Answer, Ask, Body, Header, Promise, Route, json_answer

__all__ = ["DOCUMENT_ROUTES"]

WRITE_BYTES: Final = 2 * 1024 * 1024
BATCH_BYTES: Final = 8 * 1024 * 1024
CREATE_BODY_BYTES: Final = 25 * 1024 * 1024
"""Five million characters of the longest kind that people write, and their JSON."""
BATCH_BODY_BYTES: Final = 16 * 1024 * 1024
"""What the decoded limit comes to in base64, with room for a thousand paths."""
RENAME_BODY_BYTES: Final = 16 * 1024

BRAIN: Final = "/v1/brains/{brain}"
RAW: Final = Body(WRITE_BYTES, raw=(OCTETS, "text/*"), default=OCTETS)


async def create_document(ask: Ask) -> Answer:
    """POST documents."""
    body: DocumentBody = ask.body
    args = CreateArgs(
        brain=ask.brain,
        content=body.content,
        path=body.path,
        title=body.title,
        content_type=body.content_type,
        metadata=body.metadata,
        source=body.source,
        idempotency_key=ask.idempotency_key,
    )
    record = await ask.road.operate("document_create", args, DocumentRecord)
    return json_answer(msgspec.json.encode(record), 201, _etag(record.checksum_sha256))


async def read_document(ask: Ask) -> Answer:
    """GET documents/read."""
    found = await ask.road.operate("document_read", ReadArgs(brain=ask.brain, path=ask.query.path), Document)
    etag = _etag(found.checksum_sha256)
    if _has_already(ask, found.checksum_sha256):
        return Answer(304, headers=(etag,))
    # Whatever it holds, a browser must not make a page of it.
    return Answer(
        200, found.content, ((b"content-type", OCTETS.encode()), (b"x-content-type-options", b"nosniff"), etag)
    )


async def head_document(ask: Ask) -> Answer:
    """HEAD documents."""
    stat = await _stat(ask)
    if stat.is_dir:
        raise NotFound("path: this is a folder, not a document", field="path")
    length = (b"content-length", b"%d" % stat.size)
    return Answer(200, headers=((b"content-type", OCTETS.encode()), length, _etag(stat.checksum_sha256)))


async def stat_document(ask: Ask) -> Answer:
    """GET documents/stat."""
    stat = await _stat(ask)
    headers = () if stat.is_dir else (_etag(stat.checksum_sha256),)
    return json_answer(msgspec.json.encode(stat), 200, *headers)


async def list_documents(ask: Ask) -> Answer:
    """GET documents."""
    query: ListQuery = ask.query
    args = ListArgs(
        brain=ask.brain,
        folder=query.dir,
        recursive=query.recursive,
        glob=query.glob,
        include_generated=query.include_generated,
    )
    return json_answer(msgspec.json.encode(await ask.road.operate("document_list", args, Listing)))


async def put_document(ask: Ask) -> Answer:
    """PUT documents."""
    media: str = ask.body.media
    args = PutArgs(
        brain=ask.brain,
        path=ask.query.path,
        content=ask.body.content,
        # Plain bytes say nothing; the store tells the type by the name then.
        content_type=None if media == OCTETS else media,
        idempotency_key=ask.idempotency_key,
        if_match=ask.precondition.if_match,
        if_absent=ask.precondition.if_absent,
    )
    return _written(await ask.road.operate("document_put", args, Written))


async def append_document(ask: Ask) -> Answer:
    """POST documents/append."""
    args = AppendArgs(
        brain=ask.brain,
        path=ask.query.path,
        content=ask.body.content,
        idempotency_key=ask.idempotency_key,
        if_match=ask.precondition.if_match,
        if_absent=ask.precondition.if_absent,
    )
    return _written(await ask.road.operate("document_append", args, Written))


async def delete_document(ask: Ask) -> Answer:
    """DELETE documents."""
    args = DeleteArgs(
        brain=ask.brain,
        path=ask.query.path,
        idempotency_key=ask.idempotency_key,
        if_match=ask.precondition.if_match,
        if_absent=ask.precondition.if_absent,
    )
    await ask.road.operate("document_delete", args, Written)
    return Answer(204)


async def rename_document(ask: Ask) -> Answer:
    """POST documents/rename."""
    body: RenameBody = ask.body
    args = RenameArgs(
        brain=ask.brain,
        path=body.from_,
        to=body.to,
        idempotency_key=ask.idempotency_key,
        if_match=ask.precondition.if_match,
        if_absent=ask.precondition.if_absent,
    )
    return _written(await ask.road.operate("document_rename", args, Written))


async def change_documents(ask: Ask) -> Answer:
    """POST documents/batch-ops."""
    body: BatchBody = ask.body
    size = sum(len(op.content_base64) for op in body.ops if isinstance(op, WriteOp | AppendOp))
    if size > BATCH_BYTES:
        raise TooLarge(f"ops: {size} bytes of content, the limit of a batch is {BATCH_BYTES}", limit=BATCH_BYTES)
    args = BatchArgs(
        brain=ask.brain,
        changes=tuple(_change(op) for op in body.ops),
        reason=body.reason,
        message=body.message,
        author=body.author,
        email=body.email,
        idempotency_key=ask.idempotency_key,
    )
    return json_answer(msgspec.json.encode(await ask.road.operate("document_batch", args, Committed)))


async def _stat(ask: Ask) -> Stat:
    return await ask.road.operate("document_stat", StatArgs(brain=ask.brain, path=ask.query.path), Stat)


def _change(op: BatchOp) -> Change:
    match op:
        case WriteOp():
            return Write(op.path, op.content_base64, Facts(), op.expected)
        case AppendOp():
            return Append(op.path, op.content_base64, op.expected)
        case DeleteOp():
            return Delete(op.path, op.expected)
        case RenameOp():
            return Rename(op.path, op.to, op.expected)


def _written(written: Written) -> Answer:
    return Answer(204, headers=(_etag(written.checksum_sha256), (b"x-commit-sha", written.commit_sha.encode())))


def _etag(checksum: str) -> Header:
    return (b"etag", b'"%b"' % checksum.encode())


def _has_already(ask: Ask, checksum: str) -> bool:
    """Whether the caller holds this content; a header that cannot be read asks for nothing."""
    given = ask.visit.header(b"if-none-match")
    if given is None:
        return False
    try:
        return given.strip() == "*" or checksum in read_tags(given.replace("W/", ""), "If-None-Match")
    except InvalidArguments:
        return False


DOCUMENT_ROUTES: Final = (
    Route(
        method="POST",
        path=f"{BRAIN}/documents",
        name="createDocument",
        summary="Make a new document; one that is there already is a conflict.",
        handle=create_document,
        body=Body(CREATE_BODY_BYTES, DocumentBody),
        is_keyed=True,
        promises=(Promise(201, "The record of the new document.", DOCUMENT, headers=("ETag",)),),
        problems=(409,),
    ),
    Route(
        method="GET",
        path=f"{BRAIN}/documents",
        name="listDocuments",
        summary="List a folder, sorted by path, at most 10,000 entries.",
        handle=list_documents,
        query=ListQuery,
        promises=(Promise(200, "The entries.", Listing),),
    ),
    Route(
        method="HEAD",
        path=f"{BRAIN}/documents",
        name="headDocument",
        summary="Tell whether a document is there, how long it is, and its entity tag.",
        handle=head_document,
        query=PathQuery,
        promises=(Promise(200, "It is there.", headers=("ETag",)),),
    ),
    Route(
        method="PUT",
        path=f"{BRAIN}/documents",
        name="putDocument",
        summary="Create a document, or replace what it holds; at most 2 MiB.",
        handle=put_document,
        query=PathQuery,
        body=RAW,
        is_conditional=True,
        is_keyed=True,
        promises=(Promise(204, "Written; it cannot be lost any more.", headers=("ETag", "X-Commit-Sha")),),
        problems=(409, 412),
    ),
    Route(
        method="DELETE",
        path=f"{BRAIN}/documents",
        name="deleteDocument",
        summary="Take a document away; its history stays.",
        handle=delete_document,
        query=PathQuery,
        is_conditional=True,
        is_keyed=True,
        promises=(Promise(204, "It is gone."),),
        problems=(409, 412),
    ),
    Route(
        method="GET",
        path=f"{BRAIN}/documents/read",
        name="readDocument",
        summary="Read a document, byte for byte.",
        handle=read_document,
        query=PathQuery,
        promises=(
            Promise(200, "What it holds.", media=OCTETS, schema={}, headers=("ETag",)),
            Promise(304, "If-None-Match names what it holds.", headers=("ETag",)),
        ),
    ),
    Route(
        method="GET",
        path=f"{BRAIN}/documents/stat",
        name="statDocument",
        summary="Tell size, time and checksum of a document, or the time of a folder.",
        handle=stat_document,
        query=PathQuery,
        promises=(Promise(200, "What is known of it.", Stat),),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/documents/append",
        name="appendDocument",
        summary="Add to the end of a document, or create it; at most 2 MiB at once.",
        handle=append_document,
        query=PathQuery,
        body=RAW,
        is_conditional=True,
        is_keyed=True,
        promises=(Promise(204, "Added; it cannot be lost any more.", headers=("ETag", "X-Commit-Sha")),),
        problems=(409, 412),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/documents/rename",
        name="renameDocument",
        summary="Move a document, over whatever is there; it keeps its id.",
        handle=rename_document,
        body=Body(RENAME_BODY_BYTES, RenameBody),
        is_conditional=True,
        is_keyed=True,
        promises=(Promise(204, "Moved.", headers=("ETag", "X-Commit-Sha")),),
        problems=(409, 412),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/documents/batch-ops",
        name="changeDocuments",
        summary="Make up to 1,024 changes together, or none of them; at most 8 MiB of content.",
        handle=change_documents,
        body=Body(BATCH_BODY_BYTES, BatchBody),
        is_keyed=True,
        promises=(Promise(200, "All of them were made, as one commit.", Committed),),
        problems=(409,),
    ),
)
