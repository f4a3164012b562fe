"""Makes a provider out of operations: what REST and the command line do on the road, and no MCP client is shown.

A failure is raised and not told as a result: whoever calls an operation is a program that reads codes.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from limen.calls.call import ActionClass, Call, Capability, Kind, Result, Tier
from limen.errors import InvalidArguments

__all__ = ["LaterOperations", "Operation", "Operations"]


class Operation(msgspec.Struct, frozen=True):
    """One operation: its arguments are a msgspec struct, its answer is whatever JSON can hold."""

    name: str
    description: str
    args: type[msgspec.Struct]
    run: Callable[[Any, Call], Awaitable[object]]
    action: ActionClass = "read"
    tier: Tier = "read"


class Operations:
    """The operations of one family, as the road sees them."""

    def __init__(self, source: str, operations: Sequence[Operation]) -> None:
        self._source = source
        self._found: dict[str, tuple[Capability, Operation]] = {}
        for operation in operations:
            definition = msgspec.json.encode({"name": operation.name, "description": operation.description})
            capability = Capability("operation", operation.name, definition, source, operation.action, operation.tier)
            self._found[operation.name] = (capability, operation)

    @property
    def source(self) -> str:
        """The family's name."""
        return self._source

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """All of them, in the order they were written down; nothing of another kind."""
        return [capability for capability, _ in self._found.values()] if kind == "operation" else []

    def find(self, kind: Kind, name: str) -> Capability | None:
        """By exact name."""
        known = self._found.get(name) if kind == "operation" else None
        return None if known is None else known[0]

    async def run(self, call: Call, capability: Capability) -> Result:
        """Read the arguments, do it, and write the answer down.

        Raises:
            InvalidArguments: an argument is missing, unknown or of the wrong shape.
            LimenError: what the operation itself raised.
        """
        operation = self._found[capability.name][1]
        try:
            args = msgspec.json.decode(call.arguments, type=operation.args)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidArguments(f"{operation.name}: {error}") from None
        return Result(msgspec.json.encode(await operation.run(args, call)))


class LaterOperations:
    """Operations that are put together when the first one is wanted, which no MCP client ever does."""

    def __init__(self, source: str, load: Callable[[], Operations]) -> None:
        self._source = source
        self._load = load
        self._loaded: Operations | None = None

    @property
    def source(self) -> str:
        """The family's name."""
        return self._source

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """As the operations themselves."""
        return await self._get().list(kind) if kind == "operation" else []

    def find(self, kind: Kind, name: str) -> Capability | None:
        """As the operations themselves."""
        return self._get().find(kind, name) if kind == "operation" else None

    async def run(self, call: Call, capability: Capability) -> Result:
        """As the operations themselves."""
        return await self._get().run(call, capability)

    def _get(self) -> Operations:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded
