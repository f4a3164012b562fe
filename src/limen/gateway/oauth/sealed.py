"""One encrypted file that is replaced as a whole; its key lies beside it, for this user alone.

The encryption keeps tokens out of backups, searches and screen shares of the file; whoever may read both files,
as this user, may read the tokens.
"""

import logging
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from limen.errors import StoreUnavailable

__all__ = ["SealedFile"]

log = logging.getLogger(__name__)

_MAGIC: Final = b"limen-sealed-1\n"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class SealedFile:
    """Bytes that are read and written whole. Locks nothing: whoever changes it sees to that."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._key_path = path.with_name(f"{path.name}.key")

    def read(self) -> bytes | None:
        """What was written last; None when there is no file.

        Raises:
            StoreUnavailable: there is one, but it cannot be read or is not what was written.
        """
        try:
            sealed = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._broken(error.strerror or "it cannot be read") from error
        return self._open(sealed)

    def write(self, content: bytes) -> None:
        """Replace the content, and have it on the disk.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - only who has tokens pays

        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            key = self._find_key()
            if key is None:
                key = secrets.token_bytes(_KEY_BYTES)
                _place(self._key_path, key)
            nonce = secrets.token_bytes(_NONCE_BYTES)
            _place(self.path, _MAGIC + nonce + AESGCM(key).encrypt(nonce, content, _MAGIC))
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self.path}: {error.strerror}", path=str(self.path)) from error

    def _open(self, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

        key = self._find_key()
        if key is None:
            raise self._broken("its key is gone")
        body = sealed.removeprefix(_MAGIC)
        if len(body) == len(sealed):
            raise self._broken("it is of another kind")
        try:
            return AESGCM(key).decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], _MAGIC)
        except (InvalidTag, ValueError) as error:
            raise self._broken("it does not fit its key") from error

    def _find_key(self) -> bytes | None:
        try:
            key = self._key_path.read_bytes()
            _tighten(self._key_path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._broken(f"its key: {error.strerror}") from error
        if len(key) != _KEY_BYTES:
            raise self._broken("its key is damaged")
        return key

    def _broken(self, reason: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.path} cannot be used: {reason}; remove it and its key, then sign in again", path=str(self.path)
        )


def _place(path: Path, content: bytes) -> None:
    """Put a file in the place of another, whole or not at all, for nobody else's eyes."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _tighten(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        log.warning("others could read this file; taken from them", extra={"path": str(path), "mode": oct(mode)})
        path.chmod(0o600)
