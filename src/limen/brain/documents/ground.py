"""Documents as journal and files together show them, seen by the one process that may write; changes nothing."""

import logging
from collections.abc import Callable, Iterator
from hashlib import sha256

from msgspec import structs

from limen.brain.documents.document import MAX_DOCUMENT_BYTES, Document
from limen.brain.documents.journal import Placing
from limen.brain.documents.journalsql import RESTAMP
from limen.brain.documents.ledger import Ledger
from limen.brain.documents.placing import Folder, Seen
from limen.errors import Conflict, StoreUnavailable

__all__ = ["Ground", "is_unplaced"]

log = logging.getLogger(__name__)


def is_unplaced(folder: Folder, placing: Placing | None, seen: Seen) -> bool:
    """Whether a committed change has not reached its path yet, so that what lies there is the old state."""
    if placing is None:
        return False
    if placing.temp:
        return folder.is_waiting(placing.temp)
    return not placing.checksum and bool(placing.prior) and seen.stamp == placing.prior


class Ground:
    """The shelf on which a group of change sets is staged; each path is looked at once."""

    def __init__(self, ledger: Ledger, folder: Folder, past: Callable[[Document], bytes | None]) -> None:
        self._ledger = ledger
        self._folder = folder
        self._past = past
        self._documents: dict[str, Document | None] = {}
        self._seen: dict[str, Seen] = {}

    def find(self, path: str) -> Document | None:
        """The document that lies at a path, as the journal knows it."""
        if path not in self._documents:
            self._documents[path] = self._ledger.find(path)
        return self._documents[path]

    def beneath(self, path: str) -> Iterator[str]:
        """The paths of the documents beneath a path."""
        return iter(self._ledger.beneath(path))

    def seen(self, path: str) -> Seen:
        """What lies at a path on the disk."""
        if path not in self._seen:
            self._seen[path] = self._folder.look(path)
        return self._seen[path]

    def is_foreign(self, path: str) -> bool:
        """Whether somebody else changed what lies at a path since the journal last heard of it."""
        seen, document = self.seen(path), self.find(path)
        if document is None and seen.kind != "file":
            return False
        if document is not None and seen.stamp == document.stamp:
            return False
        return not is_unplaced(self._folder, self._ledger.placing(path), seen)

    def read_foreign(self, path: str) -> tuple[bytes, str] | None:
        """The content and stamp of a file that somebody else changed; None when it is gone.

        Raises:
            Conflict: it is too large to be a document.
            StoreUnavailable: it cannot be read.
        """
        size = int(self.seen(path).stamp.split(":")[1]) if self.seen(path).stamp else 0
        if size > MAX_DOCUMENT_BYTES:
            raise Conflict(f"path: the file {path} is larger than a document may be: move it away", field="path")
        try:
            found = self._folder.read(path)
        except OSError as error:
            raise StoreUnavailable(f"the file {path} cannot be read: {error}", path=path) from error
        self._seen[path] = Seen("file", found[1], self.seen(path).mode) if found else self._folder.look(path)
        return found

    def is_only_touched(self, path: str, content: bytes, stamp: str) -> bool:
        """Whether a file was written anew with what it held; then the journal only learns to know it again."""
        document = self.find(path)
        if document is None or sha256(content).hexdigest() != document.checksum:
            return False
        self._ledger.execute(RESTAMP, stamp, path)
        self._documents[path] = structs.replace(document, stamp=stamp)
        return True

    def content(self, document: Document) -> bytes:
        """What a document holds.

        Raises:
            StoreUnavailable: it is nowhere to be found as it should be.
        """
        if self.seen(document.path).stamp == document.stamp:
            found = self._folder.read(document.path)
            if found is not None and sha256(found[0]).hexdigest() == document.checksum:
                return found[0]
        content = self._ledger.content(document.checksum)
        if content is None:
            content = self._past(document)
        if content is None:
            raise StoreUnavailable(f"the content of {document.path} is not to be found: run `limen brain verify`")
        return content

    def obstacle(self, path: str, gone: set[str]) -> str:
        """Why no file can be placed at a path once those that are `gone` are, or an empty string."""
        seen = self.seen(path)
        match seen.kind:
            case "link":
                return f"{path} is a symbolic link; remove it first"
            case "other":
                return f"{path} is neither a file nor a folder; remove it first"
            case "blocked" if seen.at not in gone:
                return f"{seen.at} is no folder, so nothing can lie beneath it"
            case "folder" if not self._folder.is_vacant(path, gone):
                return f"{path} is a folder; choose another name"
            case _:
                return ""
