"""What an HTTP server says when it wants to know who is calling, and the port of whoever can tell it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["Authorizer", "Challenge", "read_challenge"]

_INSUFFICIENT_SCOPE: Final = "insufficient_scope"


@dataclass(frozen=True, slots=True)
class Challenge:
    """A request that was refused for want of (better) credentials."""

    status: int
    www_authenticate: str
    sent: str = ""
    """The Authorization header that the refused request carried."""

    def __repr__(self) -> str:
        """Without what was sent, which is a secret."""
        return f"Challenge(status={self.status}, www_authenticate={self.www_authenticate!r})"

    @property
    def wants_scope(self) -> bool:
        """Whether the credentials are good and only grant too little."""
        return self.status == 403

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes the server asks for, where it names them."""
        return frozenset(_parameter(self.www_authenticate, "scope").split())


class Authorizer(Protocol):
    """Gives requests their Authorization header, and a better one when a server refuses it."""

    async def header(self) -> str:
        """The value to send; empty for none. Asked before every request, so it must be quick."""
        ...

    async def renew(self, challenge: Challenge) -> str:
        """A value worth trying after this refusal.

        Raises:
            AuthRequired: there is none; the message names the fix.
            Unreachable: whoever issues it does not answer.
        """
        ...


def read_challenge(status: int, headers: Mapping[str, str], sent: str) -> Challenge | None:
    """The challenge in an answer; None for an answer that other credentials would not change."""
    told = headers.get("www-authenticate", "")
    if status == 401 or (status == 403 and _parameter(told, "error") == _INSUFFICIENT_SCOPE):
        return Challenge(status, told, sent)
    return None


def _parameter(challenge: str, name: str) -> str:
    found = re.search(rf'(?:^|[\s,]){name}\s*=\s*(?:"([^"]*)"|([^\s,"]+))', challenge, re.IGNORECASE)
    return (found[1] or found[2] or "") if found else ""
