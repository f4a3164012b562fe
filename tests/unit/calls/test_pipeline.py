"""The road: every step in its order, every refusal before the effect, and a record of whatever happened."""

import asyncio
import logging
from collections.abc import Awaitable

import pytest

from limen.calls.call import Allow, Ask, Call, Caller, Capability, InputRequired, Kind, Result, Subject
from limen.errors import (
    ApprovalPending,
    AuditUnavailable,
    AuthRequired,
    Denied,
    LimenError,
    NotFound,
    ResourceNotFound,
    ToolFailed,
)
from limen.governance.approvals import NoApprover
from limen.governance.policy import LocalPolicy
from tests.house import DENIED, FakeProvider, HangingProvider, Person, RuleBook, a_call, a_caller, a_house, a_tool
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

ASK = Ask("test-asks", "may I?")


class Diary(RuleBook):
    """A rule book, person and provider in one, that writes down who was asked when."""

    def __init__(self, *capabilities: Capability) -> None:
        super().__init__(ASK)
        self.steps: list[str] = []
        self.capabilities = capabilities

    @property
    def source(self) -> str:
        return "diary"

    async def list(self, kind: Kind) -> list[Capability]:
        return []

    def find(self, kind: Kind, name: str) -> Capability | None:
        self.steps.append("find")
        return next((item for item in self.capabilities if item.name == name), None)

    def decide(self, call: Call, capability: Capability) -> Ask:
        self.steps.append("decide")
        return ASK

    async def approve(self, call: Call, capability: Capability, question: str) -> bool:
        self.steps.append("approve")
        return True

    async def run(self, call: Call, capability: Capability) -> Result:
        self.steps.append("run")
        return Result(b"{}")


@requirement("road.one-way")
async def test_a_call_passes_every_step_in_its_order() -> None:
    diary = Diary(a_tool("t"))
    house = a_house(providers={"d": diary}, policy=diary, approver=diary)
    await house.pipeline.run(a_call("t"))
    assert diary.steps == ["find", "decide", "approve", "run"]
    assert house.trail.rows == [("intent", "t", "test-asks"), ("outcome", "t", "ok")]


@requirement("road.one-way")
@pytest.mark.parametrize(
    ("kind", "method"), [("tool", "tools/call"), ("resource", "resources/read"), ("prompt", "prompts/get")]
)
async def test_tools_resources_and_prompts_take_the_same_road(kind: Kind, method: str) -> None:
    provider = FakeProvider(Capability(kind, "x", b"{}", "fake"))
    house = a_house(providers={"fake": provider})
    result = await house.pipeline.run(a_call("x", kind=kind, method=method))
    assert result is provider.result
    assert house.trail.phases == ["intent", "outcome"]


@requirement("audit.intent-and-outcome")
async def test_the_intent_is_kept_before_anything_runs() -> None:
    provider = HangingProvider()
    house = a_house(providers={"slow": provider})
    house.trail.durable = asyncio.Event()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(house.pipeline.run(a_call("slow.wait")))
        await house.trail.reaches(1)
        assert not provider.started.is_set()
        house.trail.durable.set()
        await provider.started.wait()
        task.cancel()


@requirement("audit.intent-and-outcome")
async def test_the_outcome_is_kept_before_anyone_hears_of_it() -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("t"))})
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        house.trail.durable = asyncio.Event()
        task = group.create_task(house.pipeline.run(a_call("t")))
        await house.trail.reaches(1)
        house.trail.durable, first = asyncio.Event(), house.trail.durable
        first.set()
        await house.trail.reaches(2)
        assert not task.done()
        house.trail.durable.set()


async def test_what_was_measured_is_in_the_outcome() -> None:
    provider = FakeProvider(a_tool("t"))
    provider.result = Result(b'{"isError":true}', is_error=True, code="tool_failed")
    house = a_house(providers={"fake": provider})
    await house.pipeline.run(a_call("t"))
    outcome = house.trail.kept[0]
    assert (outcome.status, outcome.code, outcome.rule) == ("tool_error", "tool_failed", "test-allows")
    assert outcome.bytes_out == len(provider.result.payload)
    assert outcome.duration_ms >= 0


@requirement("road.tool-failure")
async def test_a_tool_that_failed_is_a_result_marked_as_an_error_and_recorded_as_one() -> None:
    provider = FakeProvider(a_tool("t"))
    provider.result = Result(b"{}", is_error=True, code="tool_failed")
    house = a_house(providers={"fake": provider})
    assert (await house.pipeline.run(a_call("t"))).is_error
    assert house.trail.outcomes == ["tool_error"]


@requirement("road.unknown")
@pytest.mark.parametrize(
    ("kind", "kind_of_error"),
    [("tool", NotFound), ("prompt", NotFound), ("template", NotFound), ("resource", ResourceNotFound)],
)
async def test_what_does_not_exist_is_refused_and_the_attempt_recorded(
    kind: Kind, kind_of_error: type[LimenError]
) -> None:
    provider, policy = FakeProvider(a_tool("t")), RuleBook()
    house = a_house(providers={"fake": provider}, policy=policy)
    with pytest.raises(kind_of_error):
        await house.pipeline.run(a_call("nothing", kind=kind))
    assert (provider.ran, policy.asked) == ([], [])
    assert house.trail.rows == [("outcome", "nothing", "not_found")]


@requirement("road.denied")
async def test_a_denied_call_runs_nothing_names_its_rule_and_is_recorded() -> None:
    provider = FakeProvider(a_tool("t"))
    house = a_house(providers={"fake": provider}, policy=RuleBook(DENIED))
    with pytest.raises(Denied) as refused:
        await house.pipeline.run(a_call("t"))
    assert refused.value.facts == {"rule": "test-denies"}
    assert provider.ran == []
    assert [(outcome.status, outcome.code, outcome.rule) for outcome in house.trail.kept] == [
        ("denied", "denied", "test-denies")
    ]
    assert house.trail.phases == ["outcome"]


@requirement("road.denied")
async def test_a_call_without_identity_is_refused_before_anything_is_looked_up() -> None:
    diary = Diary(a_tool("t"))
    house = a_house(providers={"d": diary}, policy=diary, approver=diary)
    with pytest.raises(AuthRequired):
        await house.pipeline.run(a_call("t", caller=Caller(Subject(""))))
    assert diary.steps == []
    assert [outcome.code for outcome in house.trail.kept] == ["auth_required"]


@requirement("road.denied")
async def test_the_first_policy_denies_whoever_is_not_local() -> None:
    provider = FakeProvider(a_tool("t"))
    house = a_house(providers={"fake": provider}, policy=LocalPolicy())
    stranger = Caller(Subject("somebody"), frozenset({"admin"}), tier="admin")
    with pytest.raises(Denied) as refused:
        await house.pipeline.run(a_call("t", caller=stranger))
    assert (provider.ran, refused.value.facts["rule"]) == ([], "remote-default")


async def test_the_first_policy_allows_whoever_is_local() -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("t"))}, policy=LocalPolicy())
    await house.pipeline.run(a_call("t"))
    assert [outcome.rule for outcome in house.trail.kept] == ["local-default"]


@requirement("road.headless-ask")
async def test_a_question_that_nobody_can_answer_is_a_no() -> None:
    provider = FakeProvider(a_tool("t"))
    house = a_house(providers={"fake": provider}, policy=RuleBook(ASK), approver=NoApprover())
    with pytest.raises(Denied) as refused:
        await house.pipeline.run(a_call("t"))
    assert (provider.ran, refused.value.facts["rule"]) == ([], "test-asks")
    assert house.trail.outcomes == ["denied"]


@requirement("road.denied")
async def test_a_person_who_says_no_is_obeyed_and_it_is_recorded() -> None:
    provider, person = FakeProvider(a_tool("t")), Person(says_yes=False)
    house = a_house(providers={"fake": provider}, policy=RuleBook(ASK), approver=person)
    with pytest.raises(Denied):
        await house.pipeline.run(a_call("t"))
    assert (provider.ran, person.heard, house.trail.outcomes) == ([], ["may I?"], ["denied"])


async def test_a_person_who_says_yes_lets_the_call_go_on() -> None:
    provider, person = FakeProvider(a_tool("t")), Person(says_yes=True)
    house = a_house(providers={"fake": provider}, policy=RuleBook(ASK), approver=person)
    await house.pipeline.run(a_call("t"))
    assert (provider.ran, person.heard, house.trail.outcomes) == (["t"], ["may I?"], ["ok"])


async def test_nobody_is_asked_about_a_call_that_is_allowed() -> None:
    person = Person(says_yes=False)
    house = a_house(providers={"fake": FakeProvider(a_tool("t"))}, policy=RuleBook(Allow("r")), approver=person)
    await house.pipeline.run(a_call("t"))
    assert person.heard == []


async def test_an_approval_that_is_pending_runs_nothing_and_is_recorded() -> None:
    class Later(Person):
        async def approve(self, call: Call, capability: Capability, question: str) -> bool:
            raise ApprovalPending("ask again")

    provider = FakeProvider(a_tool("t"))
    house = a_house(providers={"fake": provider}, policy=RuleBook(ASK), approver=Later())
    with pytest.raises(ApprovalPending):
        await house.pipeline.run(a_call("t"))
    assert (provider.ran, [outcome.code for outcome in house.trail.kept]) == ([], ["approval_pending"])


@requirement("road.hidden")
@pytest.mark.parametrize(("caller_tier", "shown"), [("read", ["r"]), ("write", ["r", "w"]), ("admin", ["r", "w", "a"])])
async def test_a_tier_shows_what_it_covers_and_hides_what_is_above_it(caller_tier: str, shown: list[str]) -> None:
    tools = [a_tool("r", tier="read"), a_tool("w", tier="write"), a_tool("a", tier="admin")]
    provider = FakeProvider(*tools)
    house = a_house(providers={"fake": provider})
    caller = {tier: a_caller(tier=tier) for tier in ("read", "write", "admin")}[caller_tier]
    assert [item.name for item in await house.pipeline.list("tool", caller)] == shown
    for tool in tools:
        if tool.name not in shown:
            with pytest.raises(NotFound):
                await house.pipeline.run(a_call(tool.name, caller=caller))
        else:
            await house.pipeline.run(a_call(tool.name, caller=caller))
    assert provider.ran == shown


@requirement("road.hidden")
async def test_what_is_hidden_looks_exactly_like_what_does_not_exist() -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("secret", tier="admin"))})
    caller, seen = a_caller(tier="read"), list[tuple[str, object]]()
    for name in ("secret", "absent"):
        with pytest.raises(NotFound) as refused:
            await house.pipeline.run(a_call(name, caller=caller))
        seen.append((str(refused.value).replace(name, "?"), refused.value.code))
    assert seen[0] == seen[1]


@requirement("road.hidden")
async def test_an_alias_answers_and_is_not_listed() -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("name"), a_tool("alias", listed=False))})
    assert [item.name for item in await house.pipeline.list("tool", a_caller())] == ["name"]
    await house.pipeline.run(a_call("alias"))
    assert house.trail.outcomes == ["ok"]


async def test_lists_keep_the_order_of_providers_and_of_what_each_lists() -> None:
    house = a_house(providers={"one": FakeProvider(a_tool("z"), a_tool("a")), "two": FakeProvider(a_tool("m"))})
    assert [item.name for item in await house.pipeline.list("tool", a_caller())] == ["z", "a", "m"]


async def test_the_first_provider_that_shows_a_name_serves_it() -> None:
    hidden, shown = FakeProvider(a_tool("t", tier="admin")), FakeProvider(a_tool("t"))
    house = a_house(providers={"one": hidden, "two": shown})
    await house.pipeline.run(a_call("t", caller=a_caller(tier="read")))
    assert (hidden.ran, shown.ran) == ([], ["t"])


@requirement("audit.cancelled-recorded")
async def test_a_cancelled_call_is_still_recorded() -> None:
    slow = HangingProvider()
    house = a_house(providers={"slow": slow})
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(house.pipeline.run(a_call("slow.wait")))
        await slow.started.wait()
        task.cancel()
    assert house.trail.outcomes == ["cancelled"]
    assert house.trail.kept[0].code == "cancelled"


@requirement("audit.cancelled-recorded")
async def test_a_caller_who_hangs_up_twice_does_not_lose_the_record() -> None:
    slow = HangingProvider()
    house = a_house(providers={"slow": slow})
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(house.pipeline.run(a_call("slow.wait")))
        await slow.started.wait()
        house.trail.durable = asyncio.Event()
        task.cancel()
        await house.trail.reaches(2)
        task.cancel()
        house.trail.durable.set()
    assert task.cancelled()
    assert house.trail.outcomes == ["cancelled"]


@requirement("audit.cancelled-recorded")
async def test_a_call_cancelled_while_a_person_is_asked_is_recorded_and_runs_nothing() -> None:
    asked = asyncio.Event()

    class Thinking(Person):
        async def approve(self, call: Call, capability: Capability, question: str) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return True

    provider = FakeProvider(a_tool("t"))
    house = a_house(providers={"fake": provider}, policy=RuleBook(ASK), approver=Thinking())
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(house.pipeline.run(a_call("t")))
        await asked.wait()
        task.cancel()
    assert (provider.ran, house.trail.outcomes) == ([], ["cancelled"])


@requirement("audit.unwritable-refuses")
@pytest.mark.parametrize("action", ["write", "external", "destructive"])
async def test_without_a_writable_trail_nothing_that_changes_anything_runs(action: str) -> None:
    tools = {"write": a_tool("t", action="write"), "external": a_tool("t", action="external")}
    provider = FakeProvider(tools.get(action, a_tool("t", action="destructive")))
    house = a_house(providers={"fake": provider})
    house.trail.is_writable = False
    with pytest.raises(AuditUnavailable):
        await house.pipeline.run(a_call("t"))
    assert provider.ran == []


@requirement("audit.unwritable-refuses")
async def test_an_intent_that_turns_out_not_to_be_durable_refuses_as_well() -> None:
    provider = FakeProvider(a_tool("t", action="write"))
    house = a_house(providers={"fake": provider})
    house.trail.durable = asyncio.Event()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(_error_of(house.pipeline.run(a_call("t"))))
        await house.trail.reaches(1)
        house.trail.is_writable = False
        house.trail.durable.set()
    assert task.result() == "audit_unavailable"
    assert provider.ran == []


async def _error_of(call: Awaitable[Result]) -> str:
    try:
        await call
    except LimenError as error:
        return error.code
    return ""


@requirement("audit.unwritable-reads")
async def test_without_a_writable_trail_reading_goes_on_and_the_loss_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider = FakeProvider(a_tool("t", action="read"))
    house = a_house(providers={"fake": provider})
    house.trail.is_writable = False
    with caplog.at_level(logging.ERROR, "limen.calls.pipeline"):
        assert await house.pipeline.run(a_call("t")) is provider.result
    assert [record.message for record in caplog.records] == ["audit intent lost", "audit outcome lost"]


async def test_an_outcome_that_cannot_be_kept_does_not_undo_what_was_done(caplog: pytest.LogCaptureFixture) -> None:
    class Filling(FakeProvider):
        async def run(self, call: Call, capability: Capability) -> Result:
            house.trail.is_writable = False
            return await super().run(call, capability)

    provider = Filling(a_tool("t", action="write"))
    house = a_house(providers={"fake": provider})
    with caplog.at_level(logging.ERROR, "limen.calls.pipeline"):
        assert await house.pipeline.run(a_call("t")) is provider.result
    assert [record.message for record in caplog.records] == ["audit outcome lost"]


async def test_a_refusal_is_raised_even_when_it_cannot_be_recorded(caplog: pytest.LogCaptureFixture) -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("t"))}, policy=RuleBook(DENIED))
    house.trail.is_writable = False
    with caplog.at_level(logging.ERROR, "limen.calls.pipeline"), pytest.raises(Denied):
        await house.pipeline.run(a_call("t"))
    assert [record.message for record in caplog.records] == ["audit outcome lost"]


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (ToolFailed("x"), "error", "tool_failed"),
        (ResourceNotFound("x"), "not_found", "resource_not_found"),
        (InputRequired({}, {}), "input_required", ""),
        (RuntimeError("a bug"), "error", "internal"),
    ],
)
async def test_what_a_capability_raises_is_raised_on_and_recorded(failure: Exception, status: str, code: str) -> None:
    house = a_house(providers={"fake": FakeProvider(a_tool("t"), fails_with=failure)})
    with pytest.raises(type(failure)):
        await house.pipeline.run(a_call("t"))
    assert [(outcome.status, outcome.code) for outcome in house.trail.kept] == [(status, code)]
    assert house.trail.phases == ["intent", "outcome"]
