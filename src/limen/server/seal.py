"""Signs the state that stateless clients carry between rounds, so that it comes back unaltered, in time,
from the same principal and for the same request, or not at all."""

import hashlib
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from os import urandom
from pathlib import Path
from typing import Any, Final

import msgspec

from limen.clock import now_ms
from limen.errors import InvalidArguments

__all__ = ["Seal"]

LIFETIME_MS: Final = 15 * 60 * 1000
_MAC_BYTES: Final = 32


class _Sealed(msgspec.Struct, frozen=True):
    expires_ms: int
    bound_to: str
    answers: dict[str, Any]
    state: str = ""


_decode = msgspec.json.Decoder(_Sealed).decode


class Seal(msgspec.Struct, frozen=True):
    """Holds the key; everything else is in the token."""

    key: bytes

    @classmethod
    def load(cls, path: Path) -> "Seal":
        """The seal whose key is kept in a file, made on first use; so states survive a restart."""
        try:
            return cls(path.read_bytes())
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.{urandom(4).hex()}")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(urandom(32))
        try:
            # A link fails when another process was first, and is never half written.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        return cls(path.read_bytes())

    def close(self, answers: dict[str, Any], *binding: str, state: str = "") -> str:
        """A token that carries the answers given so far and a state, good for one principal and one request."""
        body = msgspec.json.encode(_Sealed(now_ms() + LIFETIME_MS, _digest(binding), answers, state))
        return urlsafe_b64encode(self._mac(body) + body).decode()

    def open(self, token: str, *binding: str) -> tuple[dict[str, Any], str]:
        """The answers in a token, and the state.

        Raises:
            InvalidArguments: it was altered, has expired, or belongs to another principal or request.
        """
        try:
            raw = urlsafe_b64decode(token.encode())
            mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
            # The decoder skips what is not base64, so a token counts only in the one spelling that was given out.
            if urlsafe_b64encode(raw).decode() != token or not hmac.compare_digest(mac, self._mac(body)):
                raise InvalidArguments("requestState: not issued here, or altered", field="requestState")
            sealed = _decode(body)
        except (BadBase64, UnicodeError, ValueError, msgspec.DecodeError):
            raise InvalidArguments("requestState: not issued here, or altered", field="requestState") from None
        if sealed.bound_to != _digest(binding):
            raise InvalidArguments("requestState: issued for another request", field="requestState")
        if sealed.expires_ms < now_ms():
            raise InvalidArguments("requestState: expired; send the request anew", field="requestState")
        return sealed.answers, sealed.state

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self.key, body, "sha256")


def _digest(binding: tuple[str, ...]) -> str:
    # As JSON, so that no part can spell the boundary to its neighbour.
    return hashlib.sha256(msgspec.json.encode(binding)).hexdigest()
