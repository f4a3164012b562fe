"""A whole house in memory: fakes for every port of the road, and builders that say only what a test is about."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limen.calls.call import (
    ActionClass,
    Allow,
    Call,
    Caller,
    Capability,
    Decision,
    Deny,
    Kind,
    Outcome,
    Question,
    Result,
    Subject,
    Tier,
)
from limen.calls.changes import ChangeFeed
from limen.calls.pipeline import Forward, Pipeline
from limen.calls.ports import Approver, Audit, Policy, Provider
from limen.errors import AuditUnavailable, MissingClientCapability
from limen.ids import new_call_id
from limen.protocol.frames import DEFAULT_LIMITS, FrameLimits
from limen.protocol.versions import SERVED, Revision
from limen.server.seal import Seal
from limen.server.surface import Surface

SEAL_KEY = b"the key of every house in the tests"


class Trail:
    """An audit trail in memory; it can be made unwritable, or slow to become durable."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        """(phase, name, status or rule), in the order they came."""
        self.kept: list[Outcome] = []
        self.is_writable = True
        self.durable: asyncio.Event | None = None
        """When set, rows are durable only once this event is."""
        self._grew = asyncio.Event()

    async def reaches(self, rows: int) -> None:
        """Wait until so many rows were handed over."""
        while len(self.rows) < rows:
            self._grew.clear()
            await self._grew.wait()

    @property
    def outcomes(self) -> list[str]:
        """How each call ended."""
        return [outcome.status for outcome in self.kept]

    @property
    def phases(self) -> list[str]:
        """Intents and outcomes, in order."""
        return [phase for phase, _, _ in self.rows]

    def intent(self, call: Call, capability: Capability, rule: str) -> Awaitable[None] | None:
        """Keep the row, or refuse to."""
        self._must_be_writable()
        self.rows.append(("intent", call.name, rule))
        return self._waiting()

    def outcome(self, call: Call, capability: Capability | None, outcome: Outcome) -> Awaitable[None] | None:
        """Keep the row, or refuse to."""
        self._must_be_writable()
        self.rows.append(("outcome", call.name, outcome.status))
        self.kept.append(outcome)
        return self._waiting()

    def _must_be_writable(self) -> None:
        if not self.is_writable:
            raise AuditUnavailable("the disk is full")

    def _waiting(self) -> Awaitable[None] | None:
        self._grew.set()
        return None if self.durable is None else self._until(self.durable)

    async def _until(self, durable: asyncio.Event) -> None:
        await durable.wait()
        self._must_be_writable()


@dataclass(slots=True)
class RuleBook:
    """A policy of one rule, that remembers what it was asked."""

    decision: Decision = field(default_factory=lambda: Allow("test-allows"))
    asked: list[str] = field(default_factory=list[str])

    def decide(self, call: Call, capability: Capability) -> Decision:
        """The one decision."""
        self.asked.append(capability.name)
        return self.decision


DENIED = Deny("test-denies", "the test says no")


@dataclass(slots=True)
class Person:
    """Somebody who answers every question the same way."""

    says_yes: bool = False
    heard: list[str] = field(default_factory=list[str])

    async def approve(self, call: Call, capability: Capability, question: str) -> bool:
        """Their one answer."""
        self.heard.append(question)
        return self.says_yes


@dataclass(slots=True)
class SilentExchange:
    """A client that supports nothing and hears nothing."""

    is_lasting = True
    wants_progress = False
    log_level = None
    state = ""

    @property
    def session(self) -> object:
        """It stands for itself."""
        return self

    @property
    def answers(self) -> Mapping[str, Any]:
        """It has given none."""
        return {}

    async def relay(self, method: str, params: bytes) -> None:
        """Nobody listens."""

    def supports(self, feature: str) -> bool:
        """Nothing."""
        return False

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Nobody asked."""

    async def log(self, level: str, data: object, logger: str | None = None) -> None:
        """Nobody reads."""

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        """Nobody answers."""
        raise MissingClientCapability("this client answers nothing")

    async def release(self) -> None:
        """Nothing to let go of."""


class FakeProvider:
    """Serves capabilities that all do the same: answer, or fail as told."""

    def __init__(self, *capabilities: Capability, fails_with: Exception | None = None) -> None:
        self.capabilities = capabilities
        self.ran: list[str] = []
        self.result = Result(b'{"content":[]}')
        self._fails_with = fails_with

    @property
    def source(self) -> str:
        """Always the same."""
        return "fake"

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """Those of the kind."""
        return [capability for capability in self.capabilities if capability.kind == kind]

    def find(self, kind: Kind, name: str) -> Capability | None:
        """By exact name."""
        found = (item for item in self.capabilities if item.kind == kind and item.name == name)
        return next(found, None)

    async def run(self, call: Call, capability: Capability) -> Result:
        """Answer, or fail as told."""
        self.ran.append(call.name)
        if self._fails_with is not None:
            raise self._fails_with
        return self.result


class HangingProvider(FakeProvider):
    """Begins a call and never ends it by itself."""

    def __init__(self, *capabilities: Capability) -> None:
        super().__init__(*(capabilities or (a_tool("slow.wait"),)))
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def run(self, call: Call, capability: Capability) -> Result:
        """Say that it began, then wait to be cancelled."""
        self.ran.append(call.name)
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise AssertionError("nobody sets that event")


@dataclass(frozen=True, slots=True)
class House:
    """The road and what the doors serve from, with every neighbour at hand."""

    pipeline: Pipeline
    trail: Trail
    changes: ChangeFeed
    surface: Surface


def a_house(
    *,
    providers: Mapping[str, Provider] | None = None,
    policy: Policy | None = None,
    approver: Approver | None = None,
    audit: Audit | None = None,
    changes: ChangeFeed | None = None,
    versions: tuple[Revision, ...] = SERVED,
    limits: FrameLimits = DEFAULT_LIMITS,
    ask_timeout_s: float = 5.0,
    forwards: Mapping[str, Forward] | None = None,
) -> House:
    """A house that allows everything, keeps its trail in memory, and serves what it is given."""
    trail = Trail()
    feed = changes or ChangeFeed()
    served = list((providers or {}).values())
    pipeline = Pipeline(served, policy or RuleBook(), approver or Person(), audit or trail, forwards=forwards or {})
    surface = Surface(pipeline, feed, Seal(SEAL_KEY), versions, limits, ask_timeout_s=ask_timeout_s)
    return House(pipeline, trail, feed, surface)


def a_caller(subject: str = "local:tester", *, tier: Tier = "admin") -> Caller:
    """Somebody at this machine who may use everything."""
    return Caller(Subject(subject), frozenset({"local"}), client="test/1", tier=tier)


def a_tool(name: str, *, action: ActionClass = "read", tier: Tier = "read", listed: bool = True) -> Capability:
    """A tool whose definition is only its name."""
    return Capability("tool", name, b'{"name":"%b"}' % name.encode(), "fake", action, tier, listed=listed)


def a_call(
    name: str,
    *,
    kind: Kind = "tool",
    method: str = "tools/call",
    arguments: bytes = b"{}",
    caller: Caller | None = None,
) -> Call:
    """Somebody calls a tool by its name."""
    return Call(new_call_id(), method, kind, name, arguments, caller or a_caller(), SilentExchange())
