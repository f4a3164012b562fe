"""What the road needs of its neighbours: those who serve, decide, ask, and keep the record."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from limen.calls.call import Call, Capability, Decision, Kind, Outcome, Result

__all__ = ["Approver", "Audit", "Policy", "Provider"]


class Provider(Protocol):
    """Serves capabilities: a toolset, an upstream, a plugin."""

    @property
    def source(self) -> str:
        """The name under which its capabilities are listed and recorded."""
        ...

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """All capabilities of a kind, in a fixed order."""
        ...

    def find(self, kind: Kind, name: str) -> Capability | None:
        """The capability that answers to this name (for a resource: to this URI), or None."""
        ...

    def run(self, call: Call, capability: Capability) -> Awaitable[Result]:
        """Do what `call.method` asks of the capability: call it, read it, get it, complete an argument of it.

        Raises:
            LimenError: it cannot be done.
        """
        ...


class Policy(Protocol):
    """Says whether a call may go ahead."""

    def decide(self, call: Call, capability: Capability) -> Decision:
        """Allow, deny or ask; pure and quick, with the rule that made it."""
        ...


class Approver(Protocol):
    """Puts a question to a person."""

    async def approve(self, call: Call, capability: Capability, question: str) -> bool:
        """True when a person said yes to exactly this call."""
        ...


class Audit(Protocol):
    """Keeps the record. Rows are handed over before the first await, so a cancelled caller cannot lose one."""

    def intent(self, call: Call, capability: Capability, rule: str) -> Awaitable[None] | None:
        """Record what is about to happen. The awaitable, when there is one, ends once the row is durable.

        Raises:
            AuditUnavailable: (from the call or the await) the row cannot be kept.
        """
        ...

    def outcome(self, call: Call, capability: Capability | None, outcome: Outcome) -> Awaitable[None] | None:
        """Record what happened, with the same promise."""
        ...
