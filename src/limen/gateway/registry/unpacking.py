"""Opens a bundle, a zip file from a stranger: nothing leaves its folder, and nothing grows beyond its bounds."""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath
from shutil import rmtree
from typing import Final

from limen.errors import FileTooLarge, NotFound, StoreUnavailable, Unreadable
from limen.ids import ulid

__all__ = ["MANIFEST", "digest_of", "read_member", "unpack"]

MANIFEST: Final = "manifest.json"
MOST_PACKED: Final = 512 << 20
MOST_BYTES: Final = 1 << 30
MOST_FILES: Final = 50_000
MOST_RATIO: Final = 200
"""Text packs ten times smaller; what packs two hundred times smaller was made to fill disks."""
RATIO_FROM: Final = 16 << 20
_BLOCK: Final = 1 << 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def digest_of(file: Path) -> str:
    """The SHA-256 of a bundle.

    Raises:
        NotFound: there is no such file.
        FileTooLarge: it is beyond what is opened.
    """
    try:
        if file.stat().st_size > MOST_PACKED:
            raise FileTooLarge(f"{file} is larger than {MOST_PACKED >> 20} MiB", limit=MOST_PACKED)
        digest = sha256()
        with file.open("rb") as source:
            while block := source.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def read_member(file: Path, name: str, most: int) -> bytes:
    """One file of a bundle.

    Raises:
        Unreadable: the bundle is damaged, or has no such file.
        FileTooLarge: it is larger than `most`.
    """
    try:
        with zipfile.ZipFile(file) as bundle, bundle.open(name) as source:
            data = source.read(most + 1)
    except KeyError:
        raise Unreadable(f"{file} has no {name}, so it is no bundle") from None
    except _DAMAGE as error:
        raise Unreadable(f"{file} is no bundle: {error}") from error
    if len(data) > most:
        raise FileTooLarge(f"{name} in {file} is larger than {most >> 10} KiB", limit=most)
    return data


def unpack(file: Path, folder: Path) -> None:
    """Unpack all of a bundle into a folder that is not there yet; whole, or not at all.

    Raises:
        Unreadable: it is damaged, or holds what must not be unpacked.
        FileTooLarge: it holds more than is unpacked.
        StoreUnavailable: the folder cannot be written.
    """
    beside = folder.with_name(f".{folder.name}.{ulid()}")
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.mkdir(mode=0o700)
        with zipfile.ZipFile(file) as bundle:
            _unpack(bundle, beside, file.stat().st_size)
        beside.rename(folder)
    except _DAMAGE as error:
        raise Unreadable(f"{file} is damaged: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be written: {error.strerror}") from error
    finally:
        rmtree(beside, ignore_errors=True)


# What zipfile and zlib raise for bytes that are no zip file, or of a kind that they do not know.
_DAMAGE: Final = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, RuntimeError, EOFError, ValueError)


def _unpack(bundle: zipfile.ZipFile, folder: Path, packed: int) -> None:
    left = min(MOST_BYTES, max(RATIO_FROM, packed * MOST_RATIO))
    for member, path in _members(bundle):
        target = folder.joinpath(*path.parts)
        if member.is_dir():
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = 0o700 if member.external_attr >> 16 & 0o111 else 0o600
        # What a member says of its size is a stranger's word, so what comes out is counted.
        with (
            bundle.open(member) as source,
            open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as written,
        ):
            while block := source.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise FileTooLarge("it holds far more than its size, or more than is unpacked", limit=MOST_BYTES)
                written.write(block)


def _members(bundle: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    members = bundle.infolist()
    if len(members) > MOST_FILES:
        raise FileTooLarge(f"it holds more than {MOST_FILES} files", limit=MOST_FILES)
    seen: set[str] = set()
    for member in members:
        path = _checked(member)
        folded = str(path).casefold()
        if folded in seen:
            raise Unreadable(f"{member.filename!r} is in it twice")
        seen.add(folded)
        yield member, path


def _checked(member: zipfile.ZipInfo) -> PurePosixPath:
    name = member.filename
    parts = name.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or set(name) & set('\\:*?"<>|') or not name.isprintable():
        raise Unreadable(f"{name!r} cannot be a path in a bundle")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Unreadable(f"{name!r} is a link or a device, which no bundle needs")
    if member.flag_bits & 1 or member.compress_type not in _METHODS:
        raise Unreadable(f"{name!r} is encrypted, or packed in a way that is not read")
    return PurePosixPath(*parts)
