"""What vouches for what a journal holds: a commit's id for the commit and all before it, a digest for each content.

The pages of the database have checksums too, but pages that are read from its log are not checked by them.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from limen.brain.records import CommitId
from limen.errors import JournalBroken

__all__ = ["Intent", "check_content", "link"]


class Intent(Struct, frozen=True, kw_only=True):
    """Who wants a commit, and why."""

    actor: str
    reason: str
    message: str = ""
    author: str = ""
    email: str = ""


def link(parent: str, seq: int, at: str, intent: Intent, operations: Iterable[Sequence[str | int]]) -> CommitId:
    """The id of a commit, which vouches for all that is in it and for all before it."""
    said = (intent.actor, intent.reason, intent.message, intent.author, intent.email)
    body = msgspec.json.encode([parent, seq, at, *said, list(operations)])
    return CommitId(sha256(body).hexdigest())


def check_content(checksum: str, content: object) -> bytes:
    """The content itself, when it is the one of this digest.

    Raises:
        JournalBroken: it is another.
    """
    if not isinstance(content, bytes) or sha256(content).hexdigest() != checksum:
        raise JournalBroken(f"the content {checksum[:12]} is not what was written: run `limen brain verify`")
    return content
