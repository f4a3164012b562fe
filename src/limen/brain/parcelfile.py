"""Reads and writes the file of a parcel; a file from outside is believed nothing that the manifest does not confirm."""

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from limen.brain.parcel import FORMAT, VERSION, Manifest, PackedFile, digest_of, is_git_part
from limen.brain.paths import check_path
from limen.errors import Conflict, FileTooLarge, InvalidPath, Unreadable

__all__ = ["read_parcel", "write_parcel"]

MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 256 << 20
MOST_BYTES = 64 << 30
_MOST_HEADER_BYTES = 64 << 10
_BLOCK = 512
_PART = 1 << 20
_LEVEL = 6


def write_parcel(target: Path, snapshot: Path, manifest: Manifest) -> None:
    """Write a snapshot as one file, whole or not at all, and the same bytes for the same snapshot.

    Raises:
        Conflict: the target exists, or a file changed while it was read.
    """
    if target.exists():
        raise Conflict(f"file: {target.name} exists; choose another name or remove it", field="file")
    draft = target.with_name(f".{target.name}.part")
    try:
        with open(draft, "wb") as raw:
            with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
                text = msgspec.json.encode(manifest)
                packed.write(_header(MANIFEST, len(text)) + text + _padding(len(text)))
                for file in manifest.files:
                    packed.write(_header(file.path, file.size))
                    if digest_of(snapshot / file.path, packed.write) != (file.size, file.sha256):
                        raise Conflict(f"{file.path} was changed while it was read; export again", field="brain")
                    packed.write(_padding(file.size))
                packed.write(bytes(2 * _BLOCK))
            raw.flush()
            os.fsync(raw.fileno())
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)


def _header(path: str, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size = size
    info.mode = 0o644
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def read_parcel(source: Path, target: Path) -> Manifest:
    """Unpack a parcel into an empty folder, when every file is what the manifest says.

    Raises:
        Unreadable: it is no parcel, or a damaged one.
        FileTooLarge: it holds more than there is room for.
    """
    with _open_checked(source) as packed:
        name, size = _next_member(packed)
        if name != MANIFEST or size > MOST_MANIFEST_BYTES:
            raise _unreadable("it does not begin with a manifest")
        manifest = _checked(packed.read(size))
        _skip(packed, -size % _BLOCK)
        _check_room(manifest, target)
        for file in manifest.files:
            if _next_member(packed) != (file.path, file.size):
                raise _unreadable(f"{file.path} is missing or has another size")
            _unpack(packed, file, target)
            _skip(packed, -file.size % _BLOCK)
    return manifest


@contextmanager
def _open_checked(source: Path) -> Generator[gzip.GzipFile]:
    try:
        with gzip.open(source, "rb") as packed:
            yield packed
    except FileNotFoundError:
        raise _unreadable("there is no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError, msgspec.MsgspecError, UnicodeError) as error:
        raise _unreadable(str(error)) from error


def _unreadable(why: str) -> Unreadable:
    return Unreadable(f"file: not an export of a brain: {why}", field="file")


def _next_member(packed: gzip.GzipFile) -> tuple[str, int]:
    """Name and size of the next file; anything but a plain file is refused before it is looked at."""
    path: str | None = None
    while True:
        info = tarfile.TarInfo.frombuf(_exactly(packed, _BLOCK), "utf-8", "strict")
        if info.type == tarfile.REGTYPE:
            return path if path is not None else info.name, info.size
        if info.type != tarfile.XHDTYPE or info.size > _MOST_HEADER_BYTES:
            raise _unreadable(f"{info.name[:80]!r} is not a plain file")
        path = _long_name(_exactly(packed, info.size))
        _skip(packed, -info.size % _BLOCK)


def _long_name(records: bytes) -> str:
    # Each record is "length key=value" with a line feed; ours are names that do not fit into a header.
    _, _, rest = records.partition(b" ")
    key, _, value = rest.partition(b"=")
    if key != b"path" or not value.endswith(b"\n"):
        raise _unreadable("a header says more than a name")
    return value[:-1].decode()


def _exactly(packed: gzip.GzipFile, size: int) -> bytes:
    data = packed.read(size)
    if len(data) != size:
        raise EOFError("it ends too early")
    return data


def _skip(packed: gzip.GzipFile, size: int) -> None:
    _exactly(packed, size)


def _checked(data: bytes) -> Manifest:
    manifest = msgspec.json.decode(data, type=Manifest)
    if manifest.format != FORMAT or manifest.version != VERSION:
        raise _unreadable(f"format {manifest.format[:40]!r} {manifest.version} is not known here")
    names = [file.path for file in manifest.files]
    if len(set(names)) != len(names) or "journal.db" not in names:
        raise _unreadable("the manifest names files twice or no journal")
    for file in manifest.files:
        _check_name(file)
    return manifest


def _check_name(file: PackedFile) -> None:
    kind, _, inside = file.path.partition("/")
    if file.size < 0:
        raise _unreadable("the manifest has a negative size")
    if file.path == "journal.db" or (kind == "git" and is_git_part(inside)):
        return
    if kind != "documents":
        raise _unreadable(f"{file.path[:80]!r} does not belong into one")
    try:
        check_path(inside)
    except InvalidPath as error:
        raise _unreadable(str(error)) from error


def _check_room(manifest: Manifest, target: Path) -> None:
    total = sum(file.size for file in manifest.files)
    if total > min(MOST_BYTES, shutil.disk_usage(target).free):
        raise FileTooLarge(f"file: unpacked it would take {total} bytes, more than there is room for", field="file")


def _unpack(packed: gzip.GzipFile, file: PackedFile, target: Path) -> None:
    path = target / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    left = file.size
    with open(path, "xb") as unpacked:
        while left:
            part = _exactly(packed, min(left, _PART))
            digest.update(part)
            unpacked.write(part)
            left -= len(part)
        unpacked.flush()
        os.fsync(unpacked.fileno())
    if digest.hexdigest() != file.sha256:
        raise _unreadable(f"{file.path} is damaged")
