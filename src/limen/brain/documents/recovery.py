"""Finishes what a writer committed and did not live to put in place; loses neither that nor what others wrote since."""

import logging
from collections.abc import Sequence
from hashlib import sha256

from msgspec import structs

from limen.brain.documents.gate import Left
from limen.brain.documents.grouping import place_all
from limen.brain.documents.journal import Placing
from limen.brain.documents.journalsql import HELD_ONCE, RESTAMP, VERSIONS
from limen.brain.documents.ledger import Ledger
from limen.brain.documents.placing import Folder
from limen.ids import ulid

__all__ = ["recover"]

log = logging.getLogger(__name__)


def recover(ledger: Ledger, folder: Folder, left: Left) -> bool:
    """Bring every committed file where it belongs, under the writer's lock; False when some could not be.

    Raises:
        OSError: there is no room to write a file anew.
        StoreUnavailable: the journal cannot be read or written.
    """
    with ledger.transaction():
        placings = ledger.placings()
        if left == "unknown":
            placings = _write_anew(ledger, folder, placings)
    waiting = {placing.temp for placing in placings if placing.temp}
    for temp in folder.temps():
        if temp not in waiting:
            folder.drop(temp)
    done = place_all(folder, placings)
    if placings:
        log.info("journal recovered", extra={"files": len(placings), "left": left})
    return done


def _write_anew(ledger: Ledger, folder: Folder, placings: Sequence[Placing]) -> Sequence[Placing]:
    """After a restart of the machine no file is trusted that was not synced, waiting ones least of all."""
    mended: list[Placing] = []
    for placing in placings:
        seen = folder.look(placing.path)
        found = folder.read(placing.path) if seen.kind == "file" else None
        verdict = _judge(ledger, placing, found[0] if found else None)
        if verdict == "kept":
            if found:
                ledger.execute(RESTAMP, found[1], placing.path)
            mended.append(structs.replace(placing, temp="", prior=""))
        elif verdict == "redo" and not placing.checksum:
            mended.append(structs.replace(placing, prior=seen.stamp))
        elif verdict == "redo":
            content = ledger.content(placing.checksum)
            if content is None:
                log.error("committed content is missing", extra={"path": placing.path})
                continue
            temp = f"{placing.seq}-{ulid().lower()}"
            stamp = folder.write_temp(temp, content, seen.mode)
            ledger.execute(RESTAMP, stamp, placing.path)
            mended.append(structs.replace(placing, temp=temp, prior=seen.stamp))
        else:
            # Somebody else wrote it; it is taken up when it is noticed.
            mended.append(structs.replace(placing, temp="", prior=""))
    for placing in mended:
        ledger.put_placing(placing)
    return mended


def _judge(ledger: Ledger, placing: Placing, found: bytes | None) -> str:
    """Whether what lies at a path is what was committed (`kept`), older or torn (`redo`), or `foreign`."""
    if found is None:
        return "redo" if placing.checksum else "kept"
    digest = sha256(found).hexdigest()
    if digest == placing.checksum:
        return "kept"
    if ledger.execute(HELD_ONCE, placing.path, digest):
        return "redo"
    versions = ledger.execute(VERSIONS, placing.since, placing.path)
    return "redo" if any(_is_torn(found, wanted) for (wanted,) in versions) else "foreign"


def _is_torn(found: bytes, wanted: bytes) -> bool:
    """Whether it is what was to be written, with zeros where the disk did not get to it, or an end missing."""
    kept = found.rstrip(b"\0")
    if len(found) > len(wanted):
        return False
    return wanted.startswith(kept) or all(
        mine in (theirs, 0) for mine, theirs in zip(found, wanted[: len(found)], strict=True)
    )
