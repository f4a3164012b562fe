"""On what the next git commit is to stand, whatever the user did to branch, HEAD or objects; decides, changes nothing.

`refs/limen/head` always holds the newest commit we made; the user's branch is moved to it where that is right. So a
rebase, a detached HEAD or a lock of git's delays the branch and never the history.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from limen.brain.git.objects import Entry
from limen.brain.git.ports import FollowedJournal
from limen.brain.git.repository import Head, Repository
from limen.brain.git.stage import blob_on_disk

__all__ = ["OUR_HEAD", "PUBLISHED", "Standing", "stand", "stand_anew", "taken_back"]

OUR_HEAD = "refs/limen/head"
PUBLISHED = "refs/limen/published"
"""The newest commit of ours that the branch has held."""
_SEARCHED_COMMITS = 10_000


class Standing(NamedTuple):
    """The parent of our next commit, and what must come first."""

    parent: bytes | None
    root: bytes | None
    our_root: bytes | None = None
    """When commits of the user's lie above ours: what we had, to find what they took back by mistake."""
    replayed: Sequence[bytes] = ()
    """Commits of ours that the branch never held, oldest first; they are made again on the new parent."""
    begins: str = ""
    """When every document that is here must be put first: the reason, as a commit's subject."""
    kept: bytes | None = None
    """A commit of ours that the branch no longer holds and a ref of ours must."""


def stand(repository: Repository, head: Head, followed: str) -> Standing:
    """What to stand on, in the ordinary course of things; `followed` is the git commit the journal knows last.

    Raises:
        MissingObject: what it would be cannot be read.
    """
    ours = repository.find_ref(OUR_HEAD)
    tip = head.tip
    if ours is None and followed and repository.has(bytes.fromhex(followed)):
        # Somebody removed the refs, and the objects are still there.
        ours = bytes.fromhex(followed)
    if ours is None:
        subject = "Take up the documents that are here"
        return Standing(tip, None if tip is None else repository.root_of(tip), begins=subject)
    our_root = repository.root_of(ours)
    published = repository.find_ref(PUBLISHED)
    if head.branch is None or tip is None or tip in {ours, published}:
        return Standing(ours, our_root)
    chain, stop = _chain(repository, ours, {published, tip})
    # Newest first, and whatever lies below an ancestor of the branch is one too.
    unpublished = bisect_left(chain, 1, key=lambda commit: int(repository.descends(tip, commit)))
    is_joined = unpublished < len(chain) or stop is None or stop == tip or repository.descends(tip, stop)
    is_short = len(chain) < _SEARCHED_COMMITS
    return Standing(
        tip,
        repository.root_of(tip),
        our_root,
        chain[:unpublished][::-1] if is_short else (),
        # What the user took out of the branch on purpose is not brought back, only kept from git's cleaning up.
        kept=None if is_joined and is_short else ours,
    )


def _chain(repository: Repository, newest: bytes, ends: Set[bytes | None]) -> tuple[list[bytes], bytes | None]:
    """A commit and its first parents down to one of the ends, and the commit before which it stopped."""
    chain: list[bytes] = []
    at: bytes | None = newest
    while at is not None and at not in ends and len(chain) < _SEARCHED_COMMITS:
        chain.append(at)
        at = repository.parent_of(at)
    return chain, at


def stand_anew(repository: Repository, head: Head, journal: FollowedJournal) -> Standing:
    """What to stand on when objects are missing: the newest commit that is whole, or none."""
    for candidate in _candidates(repository, head, journal):
        if repository.is_whole(candidate):
            subject = "Go on after a damage of the git history"
            return Standing(candidate, repository.root_of(candidate), begins=subject)
    return Standing(None, None, begins="Take up the documents that are here")


def _candidates(repository: Repository, head: Head, journal: FollowedJournal) -> Iterator[bytes]:
    for known in (repository.find_ref(OUR_HEAD), head.tip):
        if known is not None:
            yield known
    for sha in islice(_followed_shas(journal), _SEARCHED_COMMITS):
        if repository.has(sha):
            yield sha


def _followed_shas(journal: FollowedJournal) -> Iterator[bytes]:
    before: int | None = None
    while page := journal.commits(before=before, limit=1000):
        yield from (bytes.fromhex(commit.git_sha) for commit in page if commit.git_sha)
        before = page[-1].seq


def taken_back(root: Path, repository: Repository, ours: bytes, theirs: bytes) -> dict[bytes, Entry | None]:
    """The files that differ although the disk still holds what we had.

    A `git commit` with an index file from before our last commit takes our changes back in the tree alone.
    """
    found: dict[bytes, Entry | None] = {}
    for path, our_entry, _ in repository.changes(ours, theirs):
        disk = blob_on_disk(root, path)
        if (None if disk is None else disk[0]) == (None if our_entry is None else our_entry.oid):
            found[path] = our_entry
    return found
