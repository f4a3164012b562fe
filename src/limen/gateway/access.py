"""The gateway's place on the road: empty, and nothing loaded, as long as no server is configured."""

from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from limen.calls.call import Call, Capability, Kind, Result
from limen.config.model import ServerEntry
from limen.errors import NotFound
from limen.gateway.options import GatewayOptions

if TYPE_CHECKING:
    # Put off like `limen.brain.access` does it: whoever has no servers does not pay for what reaches them.
    from limen.gateway.gateway import Gateway

__all__ = ["GatewayAccess", "open_gateway_access"]


class GatewayAccess:
    """A provider that is the gateway once there is one."""

    source = "gateway"

    def __init__(self, options: GatewayOptions, stack: AsyncExitStack) -> None:
        self._options = options
        self._stack = stack
        self.gateway: Gateway | None = None

    async def arrange(self, servers: Mapping[str, ServerEntry]) -> None:
        """Have exactly these servers, from now on."""
        if self.gateway is not None:
            self.gateway.arrange(servers)
        elif servers:
            from limen.gateway.gateway import open_gateway  # noqa: PLC0415 - see above

            self.gateway = await self._stack.enter_async_context(open_gateway(servers, self._options))

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """What all servers offer."""
        return () if self.gateway is None else await self.gateway.list(kind)

    def find(self, kind: Kind, name: str) -> Capability | None:
        """The capability of this name."""
        return None if self.gateway is None else self.gateway.find(kind, name)

    def run(self, call: Call, capability: Capability) -> Awaitable[Result]:
        """Take a call to its server."""
        if self.gateway is None:
            raise NotFound(f"{call.kind} {call.name!r} is gone", name=call.name)
        return self.gateway.run(call, capability)


@asynccontextmanager
async def open_gateway_access(
    servers: Mapping[str, ServerEntry], options: GatewayOptions
) -> AsyncGenerator[GatewayAccess]:
    """The way to these servers, and to those that come later; all end with it."""
    async with AsyncExitStack() as stack:
        access = GatewayAccess(options, stack)
        await access.arrange(servers)
        yield access
