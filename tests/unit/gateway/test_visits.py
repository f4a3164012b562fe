"""A call that its server refuses until a person was at a page: who is sent where, and when it is worth another try."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from limen.calls.call import Question
from limen.errors import MissingClientCapability, RemoteError, UpstreamError
from limen.gateway.talk import Talk
from limen.gateway.visits import URL_ELICITATION_REQUIRED, Pages, Visit
from tests.house import SilentExchange

pytestmark = pytest.mark.anyio

PAGE = {"mode": "url", "url": "https://sign-in.example/", "message": "Sign in.", "elicitationId": "page-1"}
COMPLETED = b'{"elicitationId":"page-1"}'


class Visitor(SilentExchange):
    """A client whose person says the same to everything, and hears what is relayed."""

    def __init__(self, action: str = "accept", *, is_able: bool = True, is_lasting: bool = True) -> None:
        self.action = action
        self.is_able = is_able
        self.is_lasting = is_lasting
        self.asked: list[Mapping[str, Any]] = []
        self.relayed: list[str] = []
        self.was_asked = asyncio.Event()

    def supports(self, feature: str) -> bool:
        """Pages, if anything."""
        return self.is_able

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        """Its one answer."""
        self.asked += [question.params for question in questions.values()]
        self.was_asked.set()
        return {key: {"action": self.action} for key in questions}

    async def relay(self, method: str, params: bytes) -> None:
        """Remember it."""
        self.relayed.append(method)


def refusal(*pages: Mapping[str, Any]) -> RemoteError:
    data = msgspec.json.encode({"elicitations": list(pages)})
    return RemoteError("not yet", rpc_code=URL_ELICITATION_REQUIRED, data=data)


async def test_the_call_is_worth_another_try_when_the_server_says_that_the_page_was_dealt_with() -> None:
    pages, visitor = Pages(), Visitor()
    visit = Visit(pages, Talk(visitor, "tools/call x"))
    async with asyncio.timeout(1), asyncio.TaskGroup() as group:
        group.create_task(visit.make(refusal(PAGE)))
        await visitor.was_asked.wait()
        pages.complete(COMPLETED)
    assert visitor.asked == [PAGE]


async def test_it_is_tried_again_in_any_case_and_nobody_is_sent_to_the_same_page_twice() -> None:
    visitor = Visitor()
    visit = Visit(Pages(), Talk(visitor, "tools/call x"))
    await visit.make(refusal(PAGE))
    async with asyncio.TaskGroup() as group:
        again = group.create_task(visit.make(refusal({**PAGE, "elicitationId": "page-2"})))
        await asyncio.sleep(0)
        assert not again.done()
        again.cancel()
    assert visitor.asked == [PAGE]


async def test_who_says_no_gets_the_refusal() -> None:
    error = refusal(PAGE)
    with pytest.raises(RemoteError) as raised:
        await Visit(Pages(), Talk(Visitor("decline"), "tools/call x")).make(error)
    assert raised.value is error


async def test_clients_of_the_stateless_revision_never_hear_the_code_of_sessions() -> None:
    talk = Talk(Visitor(is_able=False, is_lasting=False), "tools/call x")
    with pytest.raises(MissingClientCapability):
        await Visit(Pages(), talk).make(refusal(PAGE))
    with pytest.raises(UpstreamError):
        await Visit(Pages(), Talk(Visitor(is_lasting=False), "tools/call x")).make(
            RemoteError("not yet", rpc_code=URL_ELICITATION_REQUIRED, data=b'{"elicitations":7}')
        )


async def test_a_caller_sent_to_a_page_hears_when_it_was_dealt_with_and_only_once() -> None:
    pages, visitor = Pages(), Visitor()
    talk = Talk(visitor, "tools/call x")
    pages.note(talk, msgspec.json.encode(PAGE))
    pages.complete(COMPLETED)
    pages.complete(COMPLETED)
    await talk.delivered()
    assert visitor.relayed == ["notifications/elicitation/complete"]


async def test_a_question_at_a_call_that_has_ended_is_taken_back() -> None:
    asked = asyncio.Event()

    class Slow(Visitor):
        async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
            asked.set()
            await asyncio.Event().wait()
            return {}

    talk = Talk(Slow(), "tools/call x")

    async def put() -> None:
        with pytest.raises(UpstreamError):
            await talk.ask("elicitation/create", b'{"message":"?"}')

    async with asyncio.timeout(2), asyncio.TaskGroup() as group:
        group.create_task(put())
        await asked.wait()
        assert talk.is_asking
        talk.end()
    assert not talk.is_asking
