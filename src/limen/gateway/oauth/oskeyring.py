"""Credentials in the keyring of the operating system. Does not enumerate: keyrings cannot."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from limen.errors import StoreUnavailable
from limen.gateway.oauth.gate import open_gate
from limen.gateway.oauth.tokens import Credential
from limen.gateway.oauth.vault import without

__all__ = ["SERVICE", "KeyringStore", "is_usable"]

SERVICE: Final = "limen"
_PATIENCE_S: Final = 10.0
_REAL_PRIORITY: Final = 1
"""Below it are the backends that keep nothing, or keep it in the clear."""


def is_usable() -> bool:
    """Whether this session has a keyring that keeps secrets."""
    import keyring  # noqa: PLC0415 - 80 ms of entry points, for those who sign in
    from keyring.errors import KeyringError  # noqa: PLC0415 - as above

    try:
        return keyring.get_keyring().priority >= _REAL_PRIORITY
    except (KeyringError, RuntimeError):
        return False


class KeyringStore:
    """A `TokenStore` with one item per server; `folder` holds the lock that keeps two writers apart."""

    def __init__(self, folder: Path) -> None:
        self._gate = folder / "tokens.lock"

    def find(self, server: str, issuer: str | None = None) -> Credential | None:
        """The credential of a server, the one saved last unless an issuer is named."""
        return next((one for one in reversed(self._load(server)) if issuer in (None, one.issuer)), None)

    def put(self, credential: Credential) -> None:
        """Keep a credential in place of the one with the same server and issuer."""
        import keyring  # noqa: PLC0415 - as above

        with open_gate(self._gate, patience_s=_PATIENCE_S):
            others = without(self._load(credential.server), credential.server, credential.issuer)
            text = msgspec.json.encode((*others, credential)).decode()
            with _errors():
                keyring.set_password(SERVICE, credential.server, text)

    def forget(self, server: str) -> bool:
        """Drop all that is held for a server; whether there was anything."""
        import keyring  # noqa: PLC0415 - as above

        with open_gate(self._gate, patience_s=_PATIENCE_S):
            if not self._load(server):
                return False
            with _errors():
                keyring.delete_password(SERVICE, server)
            return True

    def _load(self, server: str) -> tuple[Credential, ...]:
        import keyring  # noqa: PLC0415 - as above

        with _errors():
            text = keyring.get_password(SERVICE, server)
        if not text:
            return ()
        try:
            return msgspec.json.decode(text, type=tuple[Credential, ...])
        except msgspec.DecodeError as error:
            raise StoreUnavailable(
                f"the keyring item {SERVICE!r} / {server!r} is not Limen's; remove it and sign in again"
            ) from error


@contextmanager
def _errors() -> Generator[None]:
    from keyring.errors import KeyringError  # noqa: PLC0415 - as above

    try:
        yield
    except KeyringError as error:
        reason = str(error) or type(error).__name__
        raise StoreUnavailable(f"the system's keyring refuses: {reason}; unlock it and try again") from error
