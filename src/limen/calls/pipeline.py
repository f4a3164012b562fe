"""The road: find, identify, expose, decide, approve, run, record. There is no other way to a capability."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import assert_never

from msgspec import Struct, field

from limen.calls.call import (
    Allow,
    Ask,
    Call,
    Caller,
    Capability,
    Decision,
    Deny,
    InputRequired,
    Kind,
    Outcome,
    Result,
    Tier,
)
from limen.calls.meter import Meter
from limen.calls.ports import Approver, Audit, Policy, Provider
from limen.clock import monotonic
from limen.errors import AuditUnavailable, AuthRequired, Denied, LimenError, NotFound, ResourceNotFound

__all__ = ["Forward", "Pipeline", "is_exposed"]

log = logging.getLogger(__name__)

RECORD_GRACE_S = 5.0
_RANK: dict[Tier, int] = {"read": 0, "write": 1, "admin": 2}


class Pipeline(Struct, frozen=True):
    """Walks every call from its caller to its provider and back, and leaves a record."""

    providers: Sequence[Provider]
    policy: Policy
    approver: Approver
    audit: Audit
    meter: Meter = field(default_factory=Meter)
    forwards: Mapping[str, "Forward"] = {}
    """Names under which a call stands for another one, which takes its place before anything is decided."""

    async def list(self, kind: Kind, caller: Caller) -> list[Capability]:
        """What this caller may use, in a fixed order."""
        return [
            capability
            for provider in self.providers
            for capability in await provider.list(kind)
            if capability.listed and is_exposed(capability, caller)
        ]

    def find(self, kind: Kind, name: str, caller: Caller) -> tuple[Provider, Capability]:
        """The capability of this name and who serves it, when this caller may see it.

        Raises:
            NotFound: there is none, or it is not exposed to the caller.
        """
        most = _RANK[caller.tier]
        for provider in self.providers:
            capability = provider.find(kind, name)
            if capability is not None and _RANK[capability.tier] <= most:
                return provider, capability
        if kind == "resource":
            raise ResourceNotFound(f"no resource {name!r}", uri=name)
        raise NotFound(f"no {kind} named {name!r}", name=name)

    async def run(self, call: Call) -> Result:
        """Walk the whole road with one call.

        Raises:
            AuthRequired: nobody is calling.
            NotFound: nothing answers to the name, as far as this caller may see.
            Denied: policy or a person said no.
            AuditUnavailable: the call changes something and cannot be recorded.
            InputRequired: the client must answer first.
            LimenError: what the capability itself raised.
        """
        started = monotonic()
        capability: Capability | None = None
        try:
            if not call.caller.subject:
                raise AuthRequired("this call has no identity")  # noqa: TRY301 - the refusal is recorded below
            if call.name in self.forwards:
                call = self.forwards[call.name](self, call)
            provider, capability = self.find(call.kind, call.name, call.caller)
            decision = self.policy.decide(call, capability)
            rule = decision.rule if type(decision) is Allow else await self._admit(call, capability, decision)
            try:
                durable = self.audit.intent(call, capability, rule)
                if durable is not None:
                    await durable
            except AuditUnavailable as error:
                if capability.action != "read":
                    raise
                _log_loss("audit intent lost", call, error)
            result = await provider.run(call, capability)
        except BaseException as error:
            await self._record_failure(call, capability, _outcome_of(error, started))
            raise
        status = "tool_error" if result.is_error else "ok"
        outcome = Outcome(status, result.code, rule, (monotonic() - started) * 1000, len(result.payload))
        self.meter.note(call, capability, outcome)
        try:
            durable = self.audit.outcome(call, capability, outcome)
            if durable is not None:
                await durable
        except AuditUnavailable as error:
            # The effect has happened: refusing now would only invite the caller to do it twice.
            _log_loss("audit outcome lost", call, error)
        return result

    async def _admit(self, call: Call, capability: Capability, decision: Decision) -> str:
        match decision:
            case Allow(rule=rule):
                return rule
            case Deny(rule=rule, reason=reason):
                raise Denied(reason, rule=rule)
            case Ask(rule=rule, question=question):
                if not await self.approver.approve(call, capability, question):
                    raise Denied("this call needs a person's approval and has none", rule=rule)
                return rule
            case _:
                assert_never(decision)

    async def _record_failure(self, call: Call, capability: Capability | None, outcome: Outcome) -> None:
        self.meter.note(call, capability, outcome)
        try:
            durable = self.audit.outcome(call, capability, outcome)
            if durable is not None:
                await _outlive(durable)
        except (AuditUnavailable, TimeoutError) as error:
            _log_loss("audit outcome lost", call, error)


Forward = Callable[[Pipeline, Call], Call]


def _log_loss(message: str, call: Call, error: Exception) -> None:
    log.error(message, extra={"call_id": call.id, "reason": str(error)})


async def _outlive(durable: Awaitable[None]) -> None:
    # The row is already on its way; waiting for it must not be undone by a second cancel, nor take for ever.
    async with asyncio.timeout(RECORD_GRACE_S):
        await asyncio.shield(durable)


def is_exposed(capability: Capability, caller: Caller) -> bool:
    """Whether this caller may see and use the capability at all."""
    return _RANK[capability.tier] <= _RANK[caller.tier]


def _outcome_of(error: BaseException, started: float) -> Outcome:
    took = (monotonic() - started) * 1000
    match error:
        case asyncio.CancelledError():
            return Outcome("cancelled", "cancelled", duration_ms=took)
        case InputRequired():
            return Outcome("input_required", duration_ms=took)
        case Denied():
            return Outcome("denied", error.code, str(error.facts.get("rule", "")), took)
        case NotFound():
            return Outcome("not_found", error.code, duration_ms=took)
        case LimenError():
            return Outcome("error", error.code, duration_ms=took)
        case _:
            return Outcome("error", "internal", duration_ms=took)
