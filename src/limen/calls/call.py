"""The words of the road: who calls, what was asked, what answers to it, and what came of it.

Structs rather than dataclasses: some are made for every call and all are declared at start-up, and a struct is far
cheaper at both (docs/decisions/0011-structs-inside-too.md).
"""

from collections.abc import Mapping
from typing import Any, Literal, NewType, Protocol

from msgspec import Struct

from limen.ids import CallId

__all__ = [
    "ActionClass",
    "Allow",
    "Ask",
    "Call",
    "Caller",
    "Capability",
    "Decision",
    "Deny",
    "Exchange",
    "InputRequired",
    "Kind",
    "Outcome",
    "Question",
    "Result",
    "Tier",
]

Kind = Literal["tool", "resource", "template", "prompt", "operation"]
"""An operation is reached over REST and from the command line; no MCP method names one, so no MCP client can."""
Tier = Literal["read", "write", "admin"]
ActionClass = Literal["read", "write", "external", "destructive"]
Subject = NewType("Subject", str)


class Caller(Struct, frozen=True):
    """Who is calling: established once, at the door, and carried along the whole road."""

    subject: Subject
    roles: frozenset[str] = frozenset()
    client: str = ""
    """The client program as it names itself; a label, never a proof."""
    tenant: str = ""
    tier: Tier = "read"
    """The highest tier this caller may use here."""


class Capability(Struct, frozen=True):
    """One tool, resource, template, prompt or operation, and what governance knows about it."""

    kind: Kind
    name: str
    """The tool's or prompt's name, the resource's URI, the template's pattern."""
    definition: bytes
    """The JSON object clients see in lists, exactly as it will be sent."""
    source: str
    """The toolset or upstream that serves it."""
    action: ActionClass = "read"
    tier: Tier = "read"
    tags: frozenset[str] = frozenset()
    listed: bool = True
    """False for an alias that answers but is not shown."""


class Question(Struct, frozen=True):
    """Something only the client can answer: `elicitation/create`, `sampling/createMessage`, `roots/list`."""

    method: str
    params: Mapping[str, Any] = {}


class Exchange(Protocol):
    """The way back to the client, for the length of one call."""

    @property
    def session(self) -> object:
        """Calls whose sessions are the same object have the same client at the other end."""
        ...

    @property
    def is_lasting(self) -> bool:
        """Whether questions are awaited; otherwise each ends the call, and the client begins it anew."""
        ...

    @property
    def wants_progress(self) -> bool:
        """Whether the client asked to hear of progress."""
        ...

    @property
    def log_level(self) -> str | None:
        """The least severe log message the client wants; None when it wants none."""
        ...

    @property
    def state(self) -> str:
        """What was handed to `ask` as its state when an earlier round of this call ended; empty in the first."""
        ...

    @property
    def answers(self) -> Mapping[str, Any]:
        """What the client has answered in earlier rounds of this call, by key."""
        ...

    def supports(self, feature: str) -> bool:
        """Whether the client declared `sampling`, `elicitation`, `elicitation.url`, `roots`, …"""
        ...

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, when the client asked for it."""
        ...

    async def log(self, level: str, data: object, logger: str | None = None) -> None:
        """Send a log message, when the client wants that level."""
        ...

    async def relay(self, method: str, params: bytes) -> None:
        """Pass on what an upstream says at this call, unread: progress, and log messages the client wants."""
        ...

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        """Put questions to the client and return its results by key.

        On a session the questions are sent and awaited. In the stateless revision the call ends with
        `InputRequired` and starts anew when the client has the answers; so whatever comes before an `ask`
        must be harmless to repeat. With a `state` the call is told where it was: it comes back with the answers to
        these questions alone, and an earlier answer never stands in for one.

        Raises:
            MissingClientCapability: the client never said it could answer.
            InputRequired: the answers must come with a new request.
        """
        ...

    async def release(self) -> None:
        """Let go of the response stream; the client will come back for the answer if it can."""
        ...


class InputRequired(Exception):
    """Not a failure: the call stops here until the client comes back with answers."""

    def __init__(self, questions: Mapping[str, Question], answered: Mapping[str, Any], state: str = "") -> None:
        super().__init__("the client must answer first")
        self.questions = questions
        self.answered = answered
        self.state = state


class Call(Struct, frozen=True):
    """One request for a capability, as it enters the road."""

    id: CallId
    method: str
    kind: Kind
    name: str
    """What was asked for: a tool's or prompt's name, or a resource's URI."""
    arguments: bytes
    """The arguments as a JSON object, unread."""
    caller: Caller
    exchange: Exchange
    params: bytes = b"{}"
    """All that was sent, for whoever passes it on; what is read of it stands above."""


class Result(Struct, frozen=True):
    """What a capability answered: the JSON object that goes out as the `result`."""

    payload: bytes
    is_error: bool = False
    """The tool ran and reported failure (`isError`)."""
    code: str = ""
    """The public code of that failure, for the record."""


class Allow(Struct, frozen=True):
    """Go ahead, by this rule."""

    rule: str


class Deny(Struct, frozen=True):
    """Refused, by this rule and for this reason."""

    rule: str
    reason: str


class Ask(Struct, frozen=True):
    """A person decides."""

    rule: str
    question: str


Decision = Allow | Deny | Ask


class Outcome(Struct, frozen=True):
    """How a call ended, as the audit trail keeps it."""

    status: Literal["ok", "tool_error", "error", "denied", "not_found", "cancelled", "input_required"]
    code: str = ""
    """The error's public code, when there was one."""
    rule: str = ""
    duration_ms: float = 0.0
    bytes_out: int = 0
