"""What all upstreams of a gateway share."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from limen.config.model import ServerEntry
from limen.gateway.cache import DefinitionCache
from limen.transport.authorizer import Authorizer
from limen.transport.handshake import ClientProfile

__all__ = ["House", "Member"]


class Member(Protocol):
    """An upstream, as far as its house must know it."""

    name: str


class House(Struct, frozen=True):
    """Where they find what they need, and whom they tell."""

    cache: DefinitionCache
    environment: Mapping[str, str]
    roots: bytes
    profile: ClientProfile
    authorizer: Callable[[str, ServerEntry], Authorizer | None]
    changed: Callable[[Member], None]
    """Told when an upstream's definitions are not what they were."""
    updated: Callable[[Member, str], None]
    """Told when a resource of an upstream was updated."""
