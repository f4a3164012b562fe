"""How much work reading one file may be; what is past it is refused with the limit in the message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from limen.clock import monotonic
from limen.errors import FileTooLarge, Unreadable

__all__ = ["MAX_BYTES", "Budget"]

MAX_BYTES: Final = 25 * 1024 * 1024
"""Of a file that is taken in."""
MOST_CHARS: Final = 20_000_000
"""Of the text that is made of a file."""
MOST_PAGES: Final = 5_000
MOST_ENTRIES: Final = 10_000
"""Files in a packed document."""
MOST_UNPACKED: Final = 100 * 1024 * 1024
DEADLINE_S: Final = 60.0


def _tell_nobody(done: int, total: int) -> None:
    del done, total


@dataclass(slots=True)
class Budget:
    """What is left for one file; every reader asks it as it goes on."""

    name: str
    most_chars: int = MOST_CHARS
    most_pages: int = MOST_PAGES
    most_entries: int = MOST_ENTRIES
    most_unpacked: int = MOST_UNPACKED
    deadline: float = 0.0
    tell: Callable[[int, int], None] = _tell_nobody
    """How many parts (pages, sheets, chapters) are read, and of how many; readers call it as they go on."""

    def __post_init__(self) -> None:
        self.deadline = self.deadline or monotonic() + DEADLINE_S

    def spend_chars(self, count: int) -> None:
        """Count text that was made of the file.

        Raises:
            FileTooLarge: it is more than a document may hold.
            Unreadable: the time is over.
        """
        self.most_chars -= count
        if self.most_chars < 0:
            raise FileTooLarge(f"{self.name!r}: the text in it is past {MOST_CHARS:,} characters; split the file")
        self.check_time()

    def spend_unpacked(self, count: int) -> None:
        """Count bytes that came out of a packed file.

        Raises:
            FileTooLarge: they are more than an honest document holds.
        """
        self.most_unpacked -= count
        if self.most_unpacked < 0:
            raise FileTooLarge(f"{self.name!r}: unpacked it is past {MOST_UNPACKED // 2**20} MiB; split the file")
        self.check_time()

    def check_parts(self, count: int, what: str) -> None:
        """Raises:
        Unreadable: there are more pages, slides, sheets or chapters than a document has.
        """
        if count > self.most_pages:
            raise Unreadable(f"{self.name!r}: {count:,} {what}, and {self.most_pages:,} are the most; split it")

    def check_time(self) -> None:
        """Raises:
        Unreadable: reading takes too long.
        """
        if monotonic() > self.deadline:
            raise self.late()

    def late(self) -> Unreadable:
        """The failure when the time is over."""
        return Unreadable(f"{self.name!r}: reading it takes longer than {DEADLINE_S:.0f} s; split the file")
