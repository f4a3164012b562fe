"""Who comes in over HTTP: for now only this machine's own user, known by the address they come from."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from limen.calls.call import Caller
from limen.errors import AuthRequired
from limen.server.responses import Scope

__all__ = ["LocalPeers"]


@dataclass(frozen=True, slots=True)
class LocalPeers:
    """Takes whoever connects over loopback for the user who runs the hub, and nobody else."""

    local: Caller

    def __call__(self, scope: Scope) -> Caller:
        """The caller of a request.

        Raises:
            AuthRequired: it comes from another machine, and this hub has no way yet to know who that is.
        """
        peer = scope.get("client")
        if peer and is_loopback(peer[0]):
            return self.local
        raise AuthRequired("this hub serves its own machine only; connect over loopback, for example through ssh -L")


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
