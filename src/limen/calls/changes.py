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

    on_abandoned: Callable[[str], None] | None = None
    """Told of a resource that nobody follows any more."""
    _listeners: dict[int, Listener] = {}
    _followed: dict[str, int] = {}
    _next: int = 0

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every change from now on; call what is returned to stop."""
        key = self._next
        self._next += 1
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    def follow(self, uri: str) -> Callable[[], None]:
        """Count as somebody who wants to hear of a resource; call what is returned, once, when that is over."""
        self._followed[uri] = self._followed.get(uri, 0) + 1
        return lambda: self._leave(uri)

    def is_followed(self, uri: str) -> bool:
        """Whether somebody wants to hear of a resource."""
        return uri in self._followed

    def _leave(self, uri: str) -> None:
        self._followed[uri] -= 1
        if not self._followed[uri]:
            del self._followed[uri]
            if self.on_abandoned is not None:
                self.on_abandoned(uri)

    def publish(self, change: Change) -> None:
        """Tell everyone."""
        for listener in list(self._listeners.values()):
            listener(change)
