"""What all upstreams of a gateway share."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from limen.config.model import ServerEntry
from limen.gateway.cache import DefinitionCache
from limen.transport.authorizer import Authorizer
from limen.transport.handshake import ClientProfile

if TYPE_CHECKING:
    from limen.gateway.upstream import Upstream

__all__ = ["House"]


class House(Struct, frozen=True):
    """Where they find what they need, and whom they tell."""

    cache: DefinitionCache
    environment: Mapping[str, str]
    roots: bytes
    profile: ClientProfile
    authorizer: Callable[[str, ServerEntry], Authorizer | None]
    changed: "Callable[[Upstream], None]"
    """Told when an upstream's definitions are not what they were."""
    updated: "Callable[[Upstream, str], None]"
    """Told when a resource of an upstream was updated."""
