"""Which addresses may be fetched from here: decided on the URL as written and on every IP address behind its name.

Pure. Numbers in disguise are refused rather than understood, and an address inside another one counts as both.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from limen.errors import ConfigInvalid, FetchRefused

__all__ = [
    "FetchRules",
    "IpAddress",
    "Target",
    "check_addresses",
    "check_redirect",
    "check_url",
    "fetch_rules",
    "read_networks",
]

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

MOST_URL_CHARS: Final = 2048
_PORTS: Final = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
# Python calls these global, and none of them is a host of the public internet.
_NOT_PUBLIC: Final = (
    ip_network("192.0.0.0/24"),
    ip_network("192.88.99.0/24"),
    ip_network("168.63.129.16/32"),
    ip_network("3fff::/20"),
)
_PUBLIC_V6: Final = ip_network("2000::/3")
_NAT64: Final = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE: Final = ip_network("::/96")


class FetchRules(Struct, frozen=True, kw_only=True):
    """What may be fetched, how much of it, and for how long."""

    allowed_hosts: frozenset[str] = frozenset()
    """Hosts (`wiki.lan`, or `wiki.lan:8000` for a port of its own) that may have private addresses."""
    allowed_networks: Sequence[IpNetwork] = ()
    """Private networks that may be reached."""
    max_bytes: int = 5 * 1024 * 1024
    max_redirects: int = 5
    deadline_s: float = 20.0
    """For everything, from the first look-up to the last byte."""
    read_s: float = 10.0
    """For each piece of an answer."""


class Target(Struct, frozen=True):
    """An address that may be asked for, as far as its URL tells."""

    scheme: str
    host: str
    """In ASCII, lower case; an IPv6 address without its brackets."""
    port: int
    path: str
    """With its query."""

    @property
    def authority(self) -> str:
        """Host and port, as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address in its plain form."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def names(self) -> frozenset[str]:
        """What a list of allowed hosts may call it."""
        return frozenset({self.host, f"{self.host}:{self.port}"})


def read_networks(texts: Sequence[str]) -> list[IpNetwork]:
    """Networks as settings write them.

    Raises:
        ConfigInvalid: one is none.
    """
    found: list[IpNetwork] = []
    for text in texts:
        try:
            found.append(ip_network(text.strip(), strict=False))
        except ValueError as error:
            raise ConfigInvalid(f"allowed_networks: {text!r} is not a network such as 10.0.0.0/8") from error
    return found


def fetch_rules(allowed: Sequence[str]) -> FetchRules:
    """The rules when these hosts (with or without a port) and networks may be reached although they are private.

    Raises:
        ConfigInvalid: one of them is neither.
    """
    return FetchRules(
        allowed_hosts=frozenset(text.lower() for text in allowed if "/" not in text),
        allowed_networks=read_networks([text for text in allowed if "/" in text]),
    )


def check_url(url: str, rules: FetchRules) -> Target:
    """Take a URL apart.

    Raises:
        FetchRefused: it is none, or one that must not be fetched whatever its addresses are.
    """
    if not url or len(url) > MOST_URL_CHARS or _UNSAFE.search(url):
        raise _refused(f"must be a URL without spaces and of at most {MOST_URL_CHARS} characters")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
    except ValueError as error:
        raise _refused("must be a valid URL") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise _refused(f"must begin with http:// or https://, not {parts.scheme[:20]!r}")
    if "@" in parts.netloc:
        raise _refused("must not carry a user name or password")
    target = Target(parts.scheme, _host(host), port if port is not None else _DEFAULT_PORTS[parts.scheme], _path(url))
    if target.port not in _PORTS and f"{target.host}:{target.port}" not in rules.allowed_hosts:
        named = ", ".join(map(str, sorted(_PORTS)))
        raise _refused(f"port {target.port} is none of {named}; {_to_allow(f'{target.host}:{target.port}')}", "port")
    return target


def check_redirect(target: Target, location: str, rules: FetchRules) -> Target:
    """Where an answer sends us on to, under the same rules.

    Raises:
        FetchRefused: it must not be fetched.
    """
    try:
        return check_url(urljoin(target.url, location.strip()), rules)
    except ValueError as error:
        raise _refused("redirects to what is no URL") from error


def check_addresses(target: Target, addresses: Sequence[str], rules: FetchRules) -> Sequence[IpAddress]:
    """All the addresses behind a name, when each of them may be reached.

    Raises:
        FetchRefused: one of them is private, or there is none.
    """
    found = [_address(text) for text in addresses]
    if not found:
        raise _refused(f"{target.host} has no address")
    if target.names & rules.allowed_hosts:
        return found
    for address in found:
        for inner in _layers(address):
            if not _is_public(inner) and not any(_is_in(inner, network) for network in rules.allowed_networks):
                raise _refused(
                    f"{target.host} is at {address}, which is not a public address; {_to_allow(target.host)}",
                    "address",
                )
    return found


def _host(host: str) -> str:
    if ":" in host:
        return str(_address(host))
    ascii_host = _in_ascii(host).removesuffix(".")
    labels = ascii_host.split(".")
    if len(ascii_host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused("has no valid host name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(ascii_host))
        except ValueError as error:
            raise _refused("writes an IP address in an unusual way; write it as four decimal numbers") from error
    return ascii_host


def _in_ascii(host: str) -> str:
    if host.isascii():
        return host.lower()
    # Imported here: its tables are only for names that are not ASCII.
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii").lower()
    except UnicodeError as error:
        raise _refused("has a host name that is not allowed in the domain name system") from error


def _path(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path or "/"
    quoted = "".join(
        char if char.isascii() else _quoted(char) for char in path + (f"?{parts.query}" if parts.query else "")
    )
    return quoted if quoted.startswith("/") else f"/{quoted}"


def _quoted(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


def _address(text: str) -> IpAddress:
    if "%" in text:
        raise _refused("names a network interface, which addresses from outside do not have")
    try:
        return ip_address(text)
    except ValueError as error:
        raise _refused("has no valid IP address") from error


def _layers(address: IpAddress) -> list[IpAddress]:
    """The address, or the IPv4 address it carries, which is where its packets end."""
    if isinstance(address, IPv4Address):
        return [address]
    carried = address.ipv4_mapped or address.sixtofour
    if carried is not None:
        return [carried]
    if address.teredo is not None:
        return [address, *address.teredo]
    if any(address in network for network in _NAT64) or (address in _COMPATIBLE and int(address) > 1):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def _is_public(address: IpAddress) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return False
    return not any(_is_in(address, network) for network in _NOT_PUBLIC)


def _is_in(address: IpAddress, network: IpNetwork) -> bool:
    return address.version == network.version and address in network


def _to_allow(host: str) -> str:
    return f"to allow it, add {host} to `memory.allowed_hosts`"


def _refused(why: str, rule: str = "url") -> FetchRefused:
    return FetchRefused(f"url: {why}", field="url", rule=rule)
