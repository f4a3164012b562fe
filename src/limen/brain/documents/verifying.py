"""Holds a brain's journal against itself and against the files, and says what does not fit; mends nothing."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from limen.brain.documents.chain import Intent, link
from limen.brain.documents.ground import is_unplaced
from limen.brain.documents.journal import Journal
from limen.brain.documents.journalsql import JOURNAL_STEPS, SCHEMA, VERSION
from limen.brain.documents.placing import Folder
from limen.db.sqlite import Translated, connect_memory, connect_readonly
from limen.errors import JournalBroken

__all__ = ["strange_parts", "verify_vault"]

MOST_PROBLEMS = 1000


def verify_vault(journal: Journal, folder: Folder) -> Sequence[str]:
    """What is wrong, one line each, as far as it could be read."""
    problems: list[str] = []
    for look in (_chain(journal), _contents(journal), _files(journal, folder)):
        try:
            for problem in look:
                problems.append(problem)
                if len(problems) >= MOST_PROBLEMS:
                    return [*problems, "there is more; mend these first"]
        except JournalBroken as error:
            problems.append(str(error))
    return problems


def strange_parts(path: Path) -> Sequence[str]:
    """What a journal from outside has, or lacks, that a journal of ours has not: a trigger or a view is a program.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    with Translated(), closing(connect_readonly(path, checksummed=True, is_unchanging=True)) as db:
        ((version,),) = db.execute(VERSION)
        found = set(db.execute(SCHEMA))
    with closing(connect_memory()) as db:
        for step in JOURNAL_STEPS[:version]:
            db.execute(step)
        ours = set(db.execute(SCHEMA))
    known = {(kind, name) for kind, name, _, _ in ours}
    strange = [f"{kind} {name!r:.80} does not belong there" for kind, name, _, _ in sorted(found - ours, key=str)]
    named = {(kind, name) for kind, name, _, _ in found}
    return [*strange, *(f"{kind} {name!r} is missing" for kind, name in sorted(known - named))]


def _chain(journal: Journal) -> Iterator[str]:
    parent, expected = "", 1
    for seq, commit_id, found_parent, at, said, operations in journal.chain():
        if seq != expected:
            yield f"commit {expected} is missing"
            return
        if found_parent != parent or link(parent, seq, at, Intent(**said), operations) != commit_id:
            yield f"commit {seq} is not what was written"
            return
        parent, expected = commit_id, seq + 1
    if journal.head_link() != (expected - 1, parent):
        yield f"the journal's head is not its last commit, {expected - 1}"


def _contents(journal: Journal) -> Iterator[str]:
    for checksum, content in journal.contents():
        if sha256(content).hexdigest() != checksum:
            yield f"the journal's content {checksum[:12]} is not what was written"


def _files(journal: Journal, folder: Folder) -> Iterator[str]:
    after = ""
    while documents := journal.after(after, 1000):
        after = documents[-1].path
        for document in documents:
            seen = folder.look(document.path)
            if is_unplaced(folder, journal.placing(document.path), seen):
                if journal.content(document.checksum) is None:
                    yield f"{document.path} is not in place, and its content is not in the journal"
                continue
            if seen.stamp != document.stamp:
                # Whoever edited it has the last word.
                continue
            found = folder.read(document.path)
            if found is None or (found[1] == document.stamp and sha256(found[0]).hexdigest() != document.checksum):
                yield f"{document.path} does not hold what was written, and nobody edited it"
