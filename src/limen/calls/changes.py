"""News that clients may have asked for: lists that changed, resources that were updated."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

__all__ = ["Change", "ChangeFeed", "ListChanged", "ListedKind", "ResourceUpdated"]


ListedKind = Literal["tool", "resource", "template", "prompt"]
"""What MCP clients have lists of; operations are none of theirs."""


class ListChanged(Struct, frozen=True):
    """The list of a kind is not what it was."""

    kind: ListedKind


class ResourceUpdated(Struct, frozen=True):
    """A resource's contents changed."""

    uri: str


Change = ListChanged | ResourceUpdated
Listener = Callable[[Change], None]


class ChangeFeed(Struct, eq=False):
    """Passes each change to everyone listening, at once and in order. Listeners must not block."""

    _listeners: dict[int, Listener] = {}
    _next: int = 0

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every change from now on; call what is returned to stop."""
        key = self._next
        self._next += 1
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    def publish(self, change: Change) -> None:
        """Tell everyone."""
        for listener in list(self._listeners.values()):
            listener(change)
