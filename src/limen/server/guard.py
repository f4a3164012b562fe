"""Which Host and Origin may be served, by exact match; it looks at three headers and at nothing else of a request."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from limen.errors import ConfigInvalid

__all__ = ["Guard", "Refusal"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT: Final = 80
SHOWN: Final = 100

_HOST = re.compile(r"(?P<name>[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?P<port>:[0-9]{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@\\,]+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served, and the HTTP status that says so."""

    status: int
    reason: str


_NO_HOST = Refusal(421, "the Host header is missing")
_TWICE = {
    b"host": Refusal(421, "the Host header was sent twice"),
    b"origin": Refusal(403, "the Origin header was sent twice"),
    b"sec-fetch-site": Refusal(403, "the Sec-Fetch-Site header was sent twice"),
}
_FOREIGN_PAGE = Refusal(403, "a page of another site made this request; add its origin to server.allowed_origins")


@dataclass(frozen=True, slots=True)
class Guard:
    """Keeps pages of other sites out, also those whose name was pointed at this machine (DNS rebinding)."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]

    @classmethod
    def build(
        cls, host: str, port: int, allowed_hosts: Iterable[str] = (), allowed_origins: Iterable[str] = ()
    ) -> "Guard":
        """Allow loopback and the bound address on the bound port, and what was configured besides.

        Raises:
            ConfigInvalid: when an entry is no host or no origin, and so could never match.
        """
        own = [*LOOPBACK, *_bound_name(host)]
        hosts = {form for name in own for form in _with_port(name, port)}
        origins = {f"http://{form}" for form in hosts}
        for entry in allowed_hosts:
            hosts.update(_host_forms(entry, port))
        for entry in allowed_origins:
            if not _ORIGIN.fullmatch(entry):
                raise ConfigInvalid(
                    f"server.allowed_origins: {entry!r} is no origin; write scheme and host, as in https://app.example",
                    field="server.allowed_origins",
                )
            origins.add(entry)
        return cls(frozenset(map(str.encode, hosts)), frozenset(map(str.encode, origins)))

    def check(self, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        """Judge a request by its headers (names in lower case, as ASGI has them); None lets it pass."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in _TWICE:
                if name in found:
                    return _TWICE[name]
                found[name] = value
        host, origin = found.get(b"host"), found.get(b"origin")
        if host is None:
            return _NO_HOST
        if host not in self.hosts and host.lower() not in self.hosts:
            return Refusal(421, f"Host {_shown(host)} is not served here; add it to server.allowed_hosts")
        if origin is None:
            return _FOREIGN_PAGE if found.get(b"sec-fetch-site") == b"cross-site" else None
        if origin not in self.origins:
            return Refusal(403, f"Origin {_shown(origin)} is not allowed; add it to server.allowed_origins")
        return None


def _bound_name(host: str) -> list[str]:
    """The bound address as a Host header names it; one that stands for every address names none."""
    try:
        is_everywhere = ip_address(host).is_unspecified
    except ValueError:
        is_everywhere = False
    return [] if is_everywhere else [_bracketed(host.lower())]


def _bracketed(name: str) -> str:
    try:
        return f"[{IPv6Address(name)}]"
    except ValueError:
        return name


def _with_port(name: str, port: int) -> list[str]:
    # Clients leave out the port that the scheme implies.
    return [f"{name}:{port}", name] if port == HTTP_PORT else [f"{name}:{port}"]


def _host_forms(entry: str, port: int) -> list[str]:
    found = _HOST.fullmatch(_bracketed(entry.lower()))
    if found is None:
        raise ConfigInvalid(
            f"server.allowed_hosts: {entry!r} is no host; write a name or address with or without a port,"
            " as in hub.example:8765",
            field="server.allowed_hosts",
        )
    return [found[0]] if found["port"] else [found[0], f"{found[0]}:{port}"]


def _shown(value: bytes) -> str:
    return repr(value[:SHOWN].decode("latin-1"))
