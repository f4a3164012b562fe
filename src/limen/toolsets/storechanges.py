"""Turns what an operation asks into one commit, and tells what it came to; blocking code for a worker thread."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final, assert_never

from limen.brain.markdown import read_frontmatter, title_of
from limen.brain.paths import check_path, slug_of
from limen.brain.ports import DocumentStore
from limen.brain.records import (
    Append,
    Change,
    ChangeSet,
    Commit,
    Delete,
    DocumentRecord,
    Facts,
    Operation,
    Rename,
    Write,
)
from limen.errors import Conflict, NotFound
from limen.toolsets.storeshapes import (
    AppendArgs,
    BatchArgs,
    Committed,
    CreateArgs,
    DeleteArgs,
    PutArgs,
    RenameArgs,
    Written,
)

__all__ = ["SingleChange", "change_many", "change_one", "create"]

NAME_TRIES: Final = 1000

SingleChange = PutArgs | AppendArgs | DeleteArgs | RenameArgs


def change_one(store: DocumentStore, args: SingleChange, actor: str) -> Written:
    """Write, add to, delete or move one document.

    Raises:
        Conflict: the document is not as the caller expected it.
        LimenError: as `DocumentStore.commit`.
    """
    field = "from" if isinstance(args, RenameArgs) else "path"
    check_path(args.path, field=field)
    change = _change(args, _expected(store, args))
    commit = store.commit(
        ChangeSet(changes=(change,), actor=actor, reason=_reason(args), idempotency_key=_key(args, actor))
    )
    return _written(store, commit, args.to if isinstance(args, RenameArgs) else args.path)


def change_many(store: DocumentStore, args: BatchArgs, actor: str) -> Committed:
    """Make all of the changes, or none."""
    commit = store.commit(
        ChangeSet(
            changes=args.changes,
            actor=actor,
            reason=args.reason,
            message=args.message,
            author=args.author,
            email=args.email,
            idempotency_key=_key(args, actor),
        )
    )
    return Committed(committed=len(args.changes), commit_sha=commit.id, replayed=commit.replayed)


def create(store: DocumentStore, args: CreateArgs, actor: str) -> DocumentRecord:
    """Make a new document, at its path or at a free one made from its title.

    Raises:
        Conflict: something is at the path already.
    """
    facts = Facts(title=args.title, source=args.source, content_type=args.content_type, metadata=args.metadata)
    content = args.content.encode()
    refused: Conflict | None = None
    for path in _paths(args):
        write = Write(path, content, facts, expected=None if args.replace and args.path else "")
        changes = ChangeSet(changes=(write,), actor=actor, reason="create", idempotency_key=_key(args, actor))
        try:
            commit = store.commit(changes)
        except Conflict as error:
            if error.facts.get("field") != "expected":
                raise
            refused = error
            continue
        operation = _find_operation(commit, path)
        # By its id: when this is the answer to a second try, it may have been moved since.
        found = store.find(operation.document_id) if operation is not None else None
        return found or store.get(path)
    raise refused or Conflict("path: no free name was found; give one", field="path")


def _paths(args: CreateArgs) -> Iterator[str]:
    if args.path is not None:
        yield check_path(args.path)
        return
    title = args.title or title_of(read_frontmatter(args.content), args.content) or ""
    stem = f"memory/global/{slug_of(title, fallback='note')}"
    if args.idempotency_key:
        # The same request must come to the same name again, whatever names were taken meanwhile.
        yield f"{stem}-{sha256(args.idempotency_key.encode()).hexdigest()[:12]}.md"
        return
    yield f"{stem}.md"
    yield from (f"{stem}-{number}.md" for number in range(2, NAME_TRIES))


def _expected(store: DocumentStore, args: SingleChange) -> str | None:
    """What the change is to say of the document it expects."""
    if args.if_match is None:
        return "" if args.if_absent else None
    if args.if_absent:
        raise Conflict("If-Match: can never hold together with If-None-Match: *", field="If-Match")
    if len(args.if_match) == 1 and args.if_match[0] != "*":
        return args.if_match[0]
    try:
        present = store.get(args.path).checksum_sha256
    except NotFound:
        raise Conflict("If-Match: there is no such document", field="If-Match") from None
    if "*" in args.if_match or present in args.if_match:
        return present
    raise Conflict("If-Match: the document has changed; read it again", field="If-Match", checksum_sha256=present)


def _change(args: SingleChange, expected: str | None) -> Change:
    match args:
        case PutArgs():
            return Write(args.path, args.content, Facts(content_type=args.content_type), expected)
        case AppendArgs():
            return Append(args.path, args.content, expected)
        case DeleteArgs():
            return Delete(args.path, expected)
        case RenameArgs():
            return Rename(args.path, check_path(args.to, field="to"), expected)
        case _:
            assert_never(args)


def _reason(args: SingleChange) -> str:
    return {PutArgs: "write", AppendArgs: "append", DeleteArgs: "delete", RenameArgs: "rename"}[type(args)]


def _key(args: SingleChange | CreateArgs | BatchArgs, actor: str) -> str:
    # Two callers may hit upon the same key.
    return f"{actor} {args.idempotency_key}" if args.idempotency_key else ""


def _written(store: DocumentStore, commit: Commit, path: str) -> Written:
    operation = _find_operation(commit, path)
    if operation is None:
        # What was written was there already.
        record = store.get(path)
        return Written(commit_sha=commit.id, document_id=record.id, checksum_sha256=record.checksum_sha256)
    return Written(
        commit_sha=commit.id,
        document_id=operation.document_id,
        checksum_sha256=operation.checksum_sha256,
        replayed=commit.replayed,
    )


def _find_operation(commit: Commit, path: str) -> Operation | None:
    found = [operation for operation in commit.operations if operation.path == path]
    # What was written over another document is told beside the end of that one.
    return max(found, key=lambda operation: operation.kind != "deleted", default=None)
