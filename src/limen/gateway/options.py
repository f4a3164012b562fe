"""What the gateway needs to know of its surroundings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from limen.calls.call import Kind
from limen.calls.changes import ChangeFeed
from limen.gateway.shelf import Shelf

__all__ = ["GatewayOptions"]


class GatewayOptions(Struct, frozen=True, kw_only=True):
    """Where things are kept, and who is told."""

    cache_dir: Path
    """Where definitions are kept for the next start."""
    credentials_dir: Path
    """Where tokens are kept."""
    environment: Mapping[str, str]
    """What every child gets before its own variables."""
    roots: Sequence[str] = ()
    """Folders told to upstreams that ask."""
    changes: ChangeFeed
    is_taken: Callable[[Kind, str], bool] = lambda _kind, _name: False
    """Tells names that the hub serves itself."""
    shelf: Shelf | None = None
    """Where results go that are too large for a client; without one all are passed on whole."""
