"""What Limen holds of its accounts at upstream servers, and the port of whatever keeps it. Shows no secret."""

from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from limen.clock import now_ms

__all__ = ["Credential", "Registration", "TokenStore", "Tokens", "normal_url"]

LEEWAY_MS: Final = 5_000
"""A token that ends this soon would end on its way."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Tokens(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server lets us in with."""

    access_token: str
    refresh_token: str = ""
    expires_at_ms: int | None = None
    scope: str = ""
    """What was granted; empty when nobody said."""

    def __repr__(self) -> str:
        """Says what there is, never what it is."""
        return f"Tokens(expires_at_ms={self.expires_at_ms}, can_refresh={bool(self.refresh_token)})"

    @property
    def header(self) -> str:
        """As a request carries it."""
        return f"Bearer {self.access_token}"

    @property
    def is_valid(self) -> bool:
        """Whether it still has time to be used."""
        return self.expires_at_ms is None or self.expires_at_ms - LEEWAY_MS > now_ms()


class Registration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who Limen is to one authorization server."""

    client_id: str
    client_secret: str = ""
    redirect_uri: str = ""
    """Where it sends people back to; the registration is good for no other place."""
    auth_method: str = ""
    secret_expires_at_s: int = 0
    """0 for never, as RFC 7591 has it."""

    def __repr__(self) -> str:
        """Says how it proves itself, not with what."""
        return f"Registration(redirect_uri={self.redirect_uri!r}, auth_method={self.auth_method!r})"

    @property
    def is_expired(self) -> bool:
        """Whether its secret has ended."""
        return 0 < self.secret_expires_at_s <= now_ms() // 1000


class Credential(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that is held for one server at one authorization server; the two together are its key."""

    server: str
    """The server's URL, in the form `normal_url` gives it."""
    issuer: str = ""
    """Empty for a token that somebody typed in."""
    tokens: Tokens | None = None
    registration: Registration | None = None
    token_endpoint: str = ""
    resource: str = ""
    """What the tokens are for, in the words of the authorization server."""

    def __repr__(self) -> str:
        """Says whose it is."""
        return f"Credential(server={self.server!r}, issuer={self.issuer!r}, tokens={self.tokens!r})"

    @property
    def can_refresh(self) -> bool:
        """Whether new tokens can be had without a person."""
        return bool(self.tokens and self.tokens.refresh_token and self.registration and self.token_endpoint)


class TokenStore(Protocol):
    """Keeps credentials, for every process of this user. Blocks: call it in a thread.

    Its methods raise `StoreUnavailable` when what it keeps cannot be read or written.
    """

    def find(self, server: str, issuer: str | None = None) -> Credential | None:
        """The credential of a server, the one saved last unless an issuer is named."""
        ...

    def put(self, credential: Credential) -> None:
        """Keep a credential in place of the one with the same server and issuer."""
        ...

    def forget(self, server: str) -> bool:
        """Drop all that is held for a server; whether there was anything."""
        ...


def normal_url(url: str) -> str:
    """The one spelling of a server's address under which its credentials are kept."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme.lower())) else f":{parts.port}"
    return urlunsplit((parts.scheme.lower(), host + port, parts.path.rstrip("/"), parts.query, ""))
