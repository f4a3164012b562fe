"""Gets new tokens for old ones, by one process at a time; whoever had to wait takes what the other got.

All of it blocks and runs in a thread: a caller who gives up must not lose the only copy of a rotated token.
"""

import base64
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from limen.clock import monotonic, now_ms
from limen.errors import Unreachable, UpstreamError
from limen.gateway.oauth.courier import ANSWER_BYTES, ANSWER_S, check_address
from limen.gateway.oauth.gate import open_gate
from limen.gateway.oauth.tokens import Credential, Registration, Tokens, TokenStore

if TYPE_CHECKING:
    import httpx2

__all__ = ["refresh"]

log = logging.getLogger(__name__)

PATIENCE_S: Final = 60.0
"""How long another process may take over its refresh."""
_DEAD_REGISTRATION: Final = frozenset({"invalid_client", "unauthorized_client"})
_DEAD_TOKEN: Final = frozenset({"invalid_grant", "unsupported_grant_type", "invalid_scope"})


class _Granted(msgspec.Struct, frozen=True):
    access_token: str
    token_type: str = "Bearer"
    expires_in: int | float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


class _Refused(msgspec.Struct, frozen=True):
    error: str = ""


def refresh(store: TokenStore, server: str, stale: str, gate: Path) -> Credential | None:
    """A credential of `server` with another access token than `stale`; None when only a person can get one.

    Raises:
        Unreachable: the authorization server does not answer, or not now.
        UpstreamError: it answers what cannot be used.
        StoreUnavailable: the store cannot be read or written.
    """
    with open_gate(gate, patience_s=PATIENCE_S):
        held = store.find(server)
        if held is None or held.tokens is None:
            return None
        if held.tokens.access_token != stale and held.tokens.is_valid:
            return held
        if not held.can_refresh:
            return None
        renewed = _renew(held)
        store.put(renewed)
        return renewed if renewed.tokens is not None and renewed.tokens.access_token != stale else None


def _renew(held: Credential) -> Credential:
    """The credential with new tokens, or without what the authorization server no longer honours."""
    tokens, registration = held.tokens, held.registration
    assert tokens is not None
    assert registration is not None
    status, body = _post(held, tokens, registration)
    if status in (200, 201):
        return msgspec.structs.replace(held, tokens=_granted(body, tokens))
    error = _refusal(body)
    log.info("refresh refused", extra={"issuer": held.issuer, "status": status, "error": error})
    if error in _DEAD_REGISTRATION | _DEAD_TOKEN:
        kept = None if error in _DEAD_REGISTRATION else registration
        return msgspec.structs.replace(
            held, tokens=msgspec.structs.replace(tokens, refresh_token=""), registration=kept
        )
    if status == 429 or status >= 500:
        raise Unreachable(f"the authorization server is not well: HTTP {status}", issuer=held.issuer, status=status)
    raise UpstreamError(f"the authorization server refuses a refresh: HTTP {status}", issuer=held.issuer, error=error)


def _granted(body: bytes, old: Tokens) -> Tokens:
    try:
        told = msgspec.json.decode(body, type=_Granted)
        lifetime_s = None if told.expires_in is None else float(told.expires_in)
    except (msgspec.DecodeError, ValueError) as error:
        raise UpstreamError("the authorization server answered a refresh with what is no token") from error
    if told.token_type.lower() != "bearer":
        raise UpstreamError(f"the authorization server issues tokens of an unknown type: {told.token_type[:40]!r}")
    return Tokens(
        access_token=told.access_token,
        # One that is not named stays as it is: not every server rotates, or repeats itself (RFC 6749 §6).
        refresh_token=told.refresh_token or old.refresh_token,
        expires_at_ms=None if lifetime_s is None else now_ms() + int(lifetime_s * 1000),
        scope=old.scope if told.scope is None else told.scope,
    )


def _refusal(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Refused).error[:100]
    except msgspec.DecodeError:
        return ""


def _post(held: Credential, tokens: Tokens, registration: Registration) -> tuple[int, bytes]:
    import httpx2  # loaded already, where requests are made

    check_address(held.token_endpoint, held.server)
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh_token,
        "client_id": registration.client_id,
    }
    if held.resource:
        form["resource"] = held.resource
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if registration.client_secret and registration.auth_method == "client_secret_post":
        form["client_secret"] = registration.client_secret
    elif registration.client_secret and registration.auth_method == "client_secret_basic":
        headers["authorization"] = _basic(registration)
    try:
        with (
            httpx2.Client(timeout=ANSWER_S) as client,
            client.stream("POST", held.token_endpoint, data=form, headers=headers) as response,
        ):
            return response.status_code, _read(response)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        reason = str(error) or type(error).__name__
        raise Unreachable(f"no answer from {held.token_endpoint}: {reason}", issuer=held.issuer) from error


def _read(response: "httpx2.Response") -> bytes:
    deadline = monotonic() + ANSWER_S
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES or monotonic() > deadline:
            raise Unreachable("the authorization server's answer has no end", url=str(response.url.host))
    return bytes(body)


def _basic(registration: Registration) -> str:
    # RFC 6749 §2.3.1: both are percent-encoded before they are joined.
    pair = f"{quote(registration.client_id, safe='')}:{quote(registration.client_secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
