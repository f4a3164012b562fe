"""Ways in which the files of an index are spoilt on the disk, each drawn by lot."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

__all__ = ["KINDS", "Spoiler"]

PAGE = 8192
MOST_COPIES = 8
LOG = "-wal"
SHARED = "-shm"
"""Memory that processes share, which only looks like a file: to cut it under somebody is to kill them."""


class Spoiler:
    """Spoils the index in one folder; keeps older copies of it in another."""

    def __init__(self, rng: Random, folder: Path, copies: Path) -> None:
        self._rng = rng
        self._folder = folder
        self._copies = copies
        self._number = 0

    def files(self) -> Sequence[Path]:
        """What the index consists of now."""
        return sorted(self._folder.glob("index*"))

    def copy(self) -> None:
        """Keep the files as they are at this moment, as a backup program would."""
        target = self._copies / f"{self._number:05}"
        target.mkdir()
        self._number += 1
        for file in self.files():
            shutil.copyfile(file, target / file.name)
        for old in sorted(self._copies.iterdir())[:-MOST_COPIES]:
            shutil.rmtree(old)

    def spoil(self, kind: str, *, is_open: bool) -> str:
        """Do one kind of damage; what was done, or nothing when that cannot be done now."""
        return KINDS[kind](self, is_open)

    def delete_all(self, _: bool) -> str:
        """The whole index is gone."""
        for file in self.files():
            file.unlink()
        return "all"

    def delete_one(self, _: bool) -> str:
        """One file is gone."""
        file = self._rng.choice(self.files())
        file.unlink()
        return file.name

    def cut(self, is_open: bool) -> str:
        """A file ends early."""
        file = self._written(is_open)
        if file is None:
            return ""
        size = self._rng.choice((0, self._rng.randrange(file.stat().st_size)))
        os.truncate(file, size)
        return f"{file.name} to {size}"

    def flip(self, is_open: bool) -> str:
        """Bits of a file are others."""
        file = self._written(is_open)
        if file is None:
            return ""
        size, bits = file.stat().st_size, self._rng.choice((1, 1, 2, 10, 100))
        with file.open("r+b") as opened:
            for _ in range(bits):
                at = self._rng.randrange(size)
                byte = os.pread(opened.fileno(), 1, at)[0]
                os.pwrite(opened.fileno(), bytes([byte ^ 1 << self._rng.randrange(8)]), at)
        return f"{bits} in {file.name}"

    def zero(self, is_open: bool) -> str:
        """A page holds nothing."""
        return self._put_page(is_open, lambda _: bytes(PAGE))

    def misplace(self, is_open: bool) -> str:
        """A page holds what belongs into another."""
        return self._put_page(is_open, lambda data: data)

    def put_back_one(self, is_open: bool) -> str:
        """A file is as it was some time ago, also one that is no longer there."""
        sets = sorted(self._copies.iterdir())
        found = [file for copies in sets for file in copies.iterdir() if self._is_other(file, is_open)]
        if not found:
            return ""
        file = self._rng.choice(found)
        target = self._folder / file.name
        if self._rng.random() < 0.5:
            # Into the same file, or as a new one of the same name.
            target.unlink(missing_ok=True)
        with target.open("r+b" if target.exists() else "xb") as opened:
            opened.write(file.read_bytes())
            opened.truncate()
        return f"{file.name} of {file.parent.name}"

    def put_back_all(self, is_open: bool) -> str:
        """All files are as they were some time ago."""
        sets = sorted(self._copies.iterdir())
        if not sets:
            return ""
        chosen = self._rng.choice(sets)
        for file in self.files():
            if not (is_open and file.name.endswith(SHARED)):
                file.unlink()
        for file in chosen.iterdir():
            if not file.name.endswith(SHARED):
                shutil.copyfile(file, self._folder / file.name)
        return f"all of {chosen.name}"

    def _written(self, is_open: bool) -> Path | None:
        files = [file for file in self.files() if file.stat().st_size and not (is_open and file.name.endswith(SHARED))]
        # Each kind of file as often as the others, although there may be more vectors than logs.
        return self._rng.choice(files) if files else None

    def _put_page(self, is_open: bool, made: Callable[[bytes], bytes]) -> str:
        file = self._written(is_open)
        if file is None:
            return ""
        pages = -(-file.stat().st_size // PAGE)
        there, here = self._rng.randrange(pages), self._rng.randrange(pages)
        with file.open("r+b") as opened:
            data = made(os.pread(opened.fileno(), PAGE, there * PAGE))
            os.pwrite(opened.fileno(), data[: file.stat().st_size - here * PAGE], here * PAGE)
        return f"page {here} of {file.name}"

    def _is_other(self, copy: Path, is_open: bool) -> bool:
        now = self._folder / copy.name
        # Nor is an older log put under somebody who reads it: of two builds of an index, rows with the same number
        # cannot be told apart then (docs/decisions/0013-own-passage-index.md).
        if copy.name.endswith((SHARED, LOG)) and is_open:
            return False
        return not now.exists() or now.read_bytes() != copy.read_bytes()


KINDS: dict[str, Callable[[Spoiler, bool], str]] = {
    "all_deleted": Spoiler.delete_all,
    "file_deleted": Spoiler.delete_one,
    "file_cut": Spoiler.cut,
    "bits_flipped": Spoiler.flip,
    "page_zeroed": Spoiler.zero,
    "page_misplaced": Spoiler.misplace,
    "older_file": Spoiler.put_back_one,
    "older_index": Spoiler.put_back_all,
}
