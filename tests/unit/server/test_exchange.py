"""The way back to the client: what it declared decides what may be asked, and nothing is sent that it did not want."""

import json
from typing import Any

import pytest

from limen.calls.call import InputRequired, Question
from limen.errors import MissingClientCapability
from limen.protocol.methods import LOG_LEVELS
from limen.server.exchange import StatelessExchange, declares, passes_level
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

FORM = Question("elicitation/create", {"mode": "form", "message": "sure?"})
URL = Question("elicitation/create", {"mode": "url", "url": "https://x"})
SAMPLE = Question("sampling/createMessage", {})
ROOTS = Question("roots/list")


class Wire:
    """Where frames go."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def __call__(self, frame: bytes) -> None:
        self.sent.append(json.loads(frame))


def an_exchange(
    capabilities: dict[str, Any] | None = None,
    *,
    token: int | str | None = None,
    level: str | None = None,
    answers: dict[str, Any] | None = None,
) -> tuple[StatelessExchange, Wire]:
    wire = Wire()
    return StatelessExchange(capabilities or {}, wire, token, level, answers or {}), wire


@pytest.mark.parametrize(
    ("capabilities", "feature", "expected"),
    [
        ({}, "sampling", False),
        ({"sampling": {}}, "sampling", True),
        ({"sampling": None}, "sampling", False),
        ({"sampling": True}, "sampling", False),
        ({"sampling": {"tools": {}}}, "sampling.tools", True),
        ({"sampling": {}}, "sampling.tools", False),
        ({"roots": {}}, "roots", True),
        ({"elicitation": {}}, "elicitation", True),
        ({"elicitation": {}}, "elicitation.form", True),
        ({"elicitation": {}}, "elicitation.url", False),
        ({"elicitation": {"url": {}}}, "elicitation.url", True),
        ({"elicitation": {"url": {}}}, "elicitation", False),
        ({"elicitation": {"url": {}}}, "elicitation.form", False),
        ({"elicitation": {"form": {}, "url": {}}}, "elicitation.form", True),
        ({"elicitation": []}, "elicitation", False),
    ],
)
def test_a_feature_is_there_only_when_the_client_declared_it(
    capabilities: dict[str, Any], feature: str, expected: bool
) -> None:
    assert declares(capabilities, feature) is expected


@requirement("stateless.missing-capability")
@pytest.mark.parametrize(
    ("capabilities", "question", "required"),
    [
        ({}, SAMPLE, {"sampling": {}}),
        ({}, ROOTS, {"roots": {}}),
        ({}, FORM, {"elicitation": {}}),
        ({"elicitation": {"url": {}}}, FORM, {"elicitation": {}}),
        ({"elicitation": {}}, URL, {"elicitation": {"url": {}}}),
        ({"sampling": {}, "roots": {}}, URL, {"elicitation": {"url": {}}}),
    ],
)
async def test_nothing_is_asked_of_a_client_that_never_said_it_could_answer(
    capabilities: dict[str, Any], question: Question, required: dict[str, Any]
) -> None:
    exchange, wire = an_exchange(capabilities)
    with pytest.raises(MissingClientCapability) as refused:
        await exchange.ask({"q": question})
    assert refused.value.facts == {"requiredCapabilities": required}
    assert wire.sent == []


@requirement("stateless.missing-capability")
async def test_one_question_that_cannot_be_asked_stops_all_of_them() -> None:
    exchange, _ = an_exchange({"sampling": {}})
    with pytest.raises(MissingClientCapability):
        await exchange.ask({"one": SAMPLE, "two": ROOTS})


@requirement("stateless.input-required")
async def test_open_questions_end_the_call_with_what_was_answered_so_far() -> None:
    exchange, _ = an_exchange({"sampling": {}, "roots": {}}, answers={"one": {"said": 1}})
    with pytest.raises(InputRequired) as pause:
        await exchange.ask({"one": SAMPLE, "two": ROOTS})
    assert dict(pause.value.questions) == {"two": ROOTS}
    assert dict(pause.value.answered) == {"one": {"said": 1}}


@requirement("stateless.input-required")
async def test_questions_already_answered_are_not_asked_again() -> None:
    exchange, _ = an_exchange(answers={"one": {"said": 1}, "two": 2, "unasked": 3})
    assert await exchange.ask({"one": SAMPLE, "two": ROOTS}) == {"one": {"said": 1}, "two": 2}


@requirement("dispatch.progress")
async def test_progress_is_sent_under_the_token_that_was_given() -> None:
    exchange, wire = an_exchange(token="t")
    await exchange.progress(1, 2, "half")
    await exchange.progress(2)
    assert [frame["params"] for frame in wire.sent] == [
        {"progressToken": "t", "progress": 1, "total": 2, "message": "half"},
        {"progressToken": "t", "progress": 2},
    ]


@requirement("dispatch.progress")
async def test_progress_nobody_asked_for_is_not_sent() -> None:
    exchange, wire = an_exchange()
    await exchange.progress(1)
    assert wire.sent == []


@pytest.mark.parametrize("token", [0, ""])
async def test_a_token_that_looks_like_nothing_is_still_a_token(token: int | str) -> None:
    exchange, wire = an_exchange(token=token)
    await exchange.progress(1)
    assert wire.sent[0]["params"]["progressToken"] == token


@requirement("session.log-level")
@pytest.mark.parametrize("threshold", LOG_LEVELS)
def test_a_level_lets_through_itself_and_what_is_graver(threshold: str) -> None:
    assert [level for level in LOG_LEVELS if passes_level(level, threshold)] == list(
        LOG_LEVELS[LOG_LEVELS.index(threshold) :]
    )


@requirement("session.log-level")
@pytest.mark.parametrize("threshold", [None, "", "loud", "INFO", 3])
def test_a_level_nobody_knows_lets_nothing_through(threshold: Any) -> None:
    assert not any(passes_level(level, threshold) for level in LOG_LEVELS)


async def test_log_messages_below_the_wanted_level_are_not_sent() -> None:
    exchange, wire = an_exchange(level="warning")
    await exchange.log("info", "quiet")
    await exchange.log("error", {"loud": 1}, "limen")
    await exchange.log("nonsense", "?")
    assert [frame["params"] for frame in wire.sent] == [{"level": "error", "data": {"loud": 1}, "logger": "limen"}]


async def test_letting_go_of_the_stream_means_nothing_without_a_session() -> None:
    exchange, wire = an_exchange()
    await exchange.release()
    assert wire.sent == []
