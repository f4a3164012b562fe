"""Git's folder of packs: one pack of ours grows until it is full, full ones are joined; strangers' are never touched.

Growing means writing the pack anew under another name and removing the former one. Both are there for a moment, so
readers never miss an object, and the ledger tells after a kill which of the two is meant.
"""

import logging
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from limen.brain.git.locks import replace_file, sync_folder
from limen.brain.git.packfile import Pack, PackUnreadable, Sealed, join

__all__ = ["PackRoom"]

log = logging.getLogger(__name__)

FULL_BYTES = 1 << 20
JOINED_AT = 16
MOST_JOINED_BYTES = 64 << 20
_KEPT_BY_US = b"limen: until a ref holds it\n"


class _Ledger(Struct):
    growing: str = ""
    former: str = ""
    full: list[str] = []


class PackRoom:
    """The packs that Limen wrote into one repository."""

    def __init__(self, folder: Path, ledger: Path) -> None:
        self._folder = folder
        self._ledger_path = ledger
        self._ledger = self._read_ledger()
        self._kept: list[Path] = []

    def resume(self) -> Pack:
        """The pack that is to grow: the last one, unless it is full or gone."""
        name = self._ledger.growing
        if name:
            try:
                pack = Pack.resume(self._file(name, "pack").read_bytes(), self._file(name, "idx").read_bytes())
            except FileNotFoundError:
                log.info("a pack of ours is gone, most likely packed by git", extra={"pack": name})
            except PackUnreadable as error:
                log.warning("a pack of ours is damaged", extra={"pack": name, "reason": str(error)})
            else:
                if pack.size < FULL_BYTES:
                    return pack
                self._ledger.full.append(name)
        self._ledger.growing = ""
        return Pack()

    def publish(self, pack: Pack) -> None:
        """Bring the pack to disk, durably, and let it replace what it grew from; kept from git's cleaning up."""
        sealed = pack.seal()
        former = self._ledger.growing
        if sealed.name == former:
            return
        self._ledger.growing, self._ledger.former = sealed.name, former
        self._write_ledger()
        self._write(sealed)
        self._remove(former)
        self._ledger.former = ""
        self._write_ledger()

    def release(self) -> None:
        """A ref holds the objects now: git may clean up as it likes."""
        for keep in self._kept:
            keep.unlink(missing_ok=True)
        self._kept.clear()

    def tidy(self) -> None:
        """Remove what a killed process left half done, and join full packs when there are many."""
        for path in self._folder.glob(".limen-*"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob("*.keep"):
            if path.read_bytes() != _KEPT_BY_US:
                continue
            if not path.with_suffix(".idx").exists():
                path.with_suffix(".pack").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        self.join_full()

    def join_full(self) -> None:
        """Make one of many full packs of like size, so that git never has to look through hundreds."""
        sizes = {name: self._size(name) for name in self._ledger.full}
        self._ledger.full = [name for name, size in sizes.items() if size]
        for rank in {size.bit_length() // 4 for size in sizes.values() if size}:
            names = [name for name in self._ledger.full if sizes[name].bit_length() // 4 == rank]
            if len(names) >= JOINED_AT and sum(sizes[name] for name in names) <= MOST_JOINED_BYTES:
                self._join(names)

    def _join(self, names: list[str]) -> None:
        try:
            joined = join([(self._file(n, "pack").read_bytes(), self._file(n, "idx").read_bytes()) for n in names])
        except (FileNotFoundError, PackUnreadable) as error:
            log.info("packs cannot be joined and stay as they are", extra={"reason": str(error)})
            self._ledger.full = [name for name in self._ledger.full if name not in names]
        else:
            self._write(joined)
            self._ledger.full = [name for name in self._ledger.full if name not in names] + [joined.name]
            for name in names:
                self._remove(name)
            self.release()
        self._write_ledger()

    def _write(self, sealed: Sealed) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        keep = self._file(sealed.name, "keep")
        keep.write_bytes(_KEPT_BY_US)
        self._kept.append(keep)
        # The index comes last: it is what makes a pack visible.
        for data, suffix in ((sealed.pack, "pack"), (sealed.idx, "idx")):
            draft = self._folder / f".limen-{suffix}"
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._file(sealed.name, suffix))
        sync_folder(self._folder)

    def _remove(self, name: str) -> None:
        if not name:
            return
        for suffix in ("idx", "pack", "keep", "rev", "bitmap"):
            self._file(name, suffix).unlink(missing_ok=True)

    def _file(self, name: str, suffix: str) -> Path:
        return self._folder / f"{name}.{suffix}"

    def _size(self, name: str) -> int:
        try:
            return self._file(name, "pack").stat().st_size
        except FileNotFoundError:
            return 0

    def _read_ledger(self) -> _Ledger:
        try:
            ledger = msgspec.json.decode(self._ledger_path.read_bytes(), type=_Ledger)
        except (FileNotFoundError, msgspec.DecodeError):
            return _Ledger()
        if ledger.former and self._file(ledger.growing, "idx").exists():
            self._remove(ledger.former)
        elif ledger.former:
            ledger.growing = ledger.former
        ledger.former = ""
        return ledger

    def _write_ledger(self) -> None:
        draft = self._ledger_path.with_suffix(".draft")
        replace_file(self._ledger_path, msgspec.json.encode(self._ledger), draft, durable=False)
