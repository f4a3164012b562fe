"""Credentials in one encrypted file, for machines without an OS keyring."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from limen.errors import StoreUnavailable
from limen.gateway.oauth.gate import open_gate
from limen.gateway.oauth.sealed import SealedFile
from limen.gateway.oauth.tokens import Credential

__all__ = ["FileVault", "without"]

_PATIENCE_S: Final = 10.0


class _Content(msgspec.Struct, frozen=True):
    """The file's content: credentials in the order they were saved."""

    credentials: tuple[Credential, ...] = ()


class FileVault:
    """A `TokenStore` in `folder`; a change by one process is seen by the next read of any other."""

    def __init__(self, folder: Path) -> None:
        self._file = SealedFile(folder / "tokens")
        self._gate = folder / "tokens.lock"

    def find(self, server: str, issuer: str | None = None) -> Credential | None:
        """The credential of a server, the one saved last unless an issuer is named."""
        for credential in reversed(self._load()):
            if credential.server == server and issuer in (None, credential.issuer):
                return credential
        return None

    def put(self, credential: Credential) -> None:
        """Keep a credential in place of the one with the same server and issuer."""
        self._change(lambda held: (*without(held, credential.server, credential.issuer), credential))

    def forget(self, server: str) -> bool:
        """Drop all that is held for a server; whether there was anything."""
        return self._change(lambda held: without(held, server))

    def _change(self, change: Callable[[tuple[Credential, ...]], tuple[Credential, ...]]) -> bool:
        with open_gate(self._gate, patience_s=_PATIENCE_S):
            held = self._load()
            wanted = change(held)
            if wanted == held:
                return False
            self._file.write(msgspec.json.encode(_Content(wanted)))
            return True

    def _load(self) -> tuple[Credential, ...]:
        content = self._file.read()
        if content is None:
            return ()
        try:
            return msgspec.json.decode(content, type=_Content).credentials
        except msgspec.DecodeError as error:
            raise StoreUnavailable(f"{self._file.path} was written by another version of Limen") from error


def without(held: tuple[Credential, ...], server: str, issuer: str | None = None) -> tuple[Credential, ...]:
    """All but the credentials of a server, or of a server at one issuer."""
    return tuple(one for one in held if one.server != server or issuer not in (None, one.issuer))
