"""Chooses where credentials are kept, once, so that every process of this user looks in the same place."""

import threading
from pathlib import Path
from typing import Final, Literal

from limen.errors import StoreUnavailable
from limen.gateway.oauth.gate import open_gate
from limen.gateway.oauth.oskeyring import KeyringStore, is_usable
from limen.gateway.oauth.tokens import Credential, TokenStore
from limen.gateway.oauth.vault import FileVault

__all__ = ["ChosenStore", "Place"]

Place = Literal["auto", "keyring", "file"]

_PATIENCE_S: Final = 10.0


class ChosenStore:
    """The `TokenStore` of this machine, opened at first use.

    A terminal has a keyring that a service started at boot has not. What the first process to save chose is written
    down in `folder`, so that the other fails with a reason instead of finding nothing.
    """

    def __init__(self, folder: Path, place: Place = "auto") -> None:
        self._folder = folder
        self._place = place
        self._opening = threading.Lock()
        self._store: TokenStore | None = None

    def find(self, server: str, issuer: str | None = None) -> Credential | None:
        """The credential of a server, the one saved last unless an issuer is named."""
        return None if self._is_unused() else self._get().find(server, issuer)

    def put(self, credential: Credential) -> None:
        """Keep a credential in place of the one with the same server and issuer."""
        self._get().put(credential)

    def forget(self, server: str) -> bool:
        """Drop all that is held for a server; whether there was anything."""
        return not self._is_unused() and self._get().forget(server)

    def _is_unused(self) -> bool:
        """Whether nothing was ever saved; most people never sign in anywhere, and pay one look for a file."""
        return self._store is None and self._place == "auto" and self._noted() is None

    def _get(self) -> TokenStore:
        with self._opening:
            if self._store is None:
                self._store = self._open()
            return self._store

    def _open(self) -> TokenStore:
        place = self._place if self._place != "auto" else self._noted() or self._write_note()
        if place == "file":
            return FileVault(self._folder)
        if not is_usable():
            raise StoreUnavailable(
                "tokens are kept in the system's keyring, which this process cannot reach; start Limen from a desktop"
                f" session, or remove {self._note} and sign in again from here"
            )
        return KeyringStore(self._folder)

    @property
    def _note(self) -> Path:
        return self._folder / "place"

    def _noted(self) -> str | None:
        try:
            return self._note.read_text("ascii").strip() or None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreUnavailable(f"cannot read {self._note}: {error.strerror}") from error

    def _write_note(self) -> str:
        """Note where to keep things, unless somebody else just did; what is noted."""
        place = "keyring" if is_usable() else "file"
        with open_gate(self._folder / "tokens.lock", patience_s=_PATIENCE_S):
            noted = self._noted()
            if noted is None:
                try:
                    self._note.write_text(f"{place}\n", "ascii")
                except OSError as error:
                    raise StoreUnavailable(f"cannot write {self._note}: {error.strerror}") from error
            return noted or place
