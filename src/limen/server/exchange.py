"""The way back to a client during one call: messages on its stream in a session, rounds in the stateless revision."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from limen.calls.call import InputRequired, Question
from limen.errors import MissingClientCapability
from limen.protocol.frames import RequestId, encode_notification
from limen.protocol.methods import LOG_LEVELS
from limen.shapes import is_object
from limen.transport.dispatcher import Dispatcher, Outlet

__all__ = ["SessionExchange", "StatelessExchange", "passes_level"]

_FEATURE_OF: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


def passes_level(level: str, threshold: str | None) -> bool:
    """Whether a message of this level is wanted; an unknown threshold wants nothing."""
    if threshold not in LOG_LEVELS or level not in LOG_LEVELS:
        return False
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(threshold)


def declares(capabilities: Mapping[str, Any], feature: str) -> bool:
    """Whether the declared client capabilities include a feature, `name` or `name.part`."""
    name, _, part = feature.partition(".")
    declared = capabilities.get(name)
    if not is_object(declared):
        return False
    if name == "elicitation" and part in ("", "form"):
        # An empty object means form, as it did before there were two modes.
        return not declared or "form" in declared
    return not part or part in declared


def _require(capabilities: Mapping[str, Any], question: Question) -> None:
    feature = _FEATURE_OF.get(question.method, question.method)
    if feature == "elicitation" and question.params.get("mode") == "url":
        feature = "elicitation.url"
    if not declares(capabilities, feature):
        name, _, part = feature.partition(".")
        raise MissingClientCapability(
            f"this needs a client that supports {feature}",
            requiredCapabilities={name: {part: {}} if part else {}},
        )


class _Level(msgspec.Struct):
    level: str = ""


_decode_level = msgspec.json.Decoder(_Level).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _Exchange(msgspec.Struct, eq=False):
    """What both revisions do the same way. Two are never equal: each stands for one call of one client."""

    capabilities: Mapping[str, Any]
    outlet: Outlet
    progress_token: RequestId | None
    log_level: str | None

    hears_completion: ClassVar[bool] = False
    """Whether the client's revision has a message for pages that were dealt with."""

    @property
    def wants_progress(self) -> bool:
        return self.progress_token is not None

    def supports(self, feature: str) -> bool:
        return declares(self.capabilities, feature)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self.progress_token is None:
            return
        params: dict[str, object] = {"progressToken": self.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.outlet(encode_notification("notifications/progress", msgspec.json.encode(params)))

    async def log(self, level: str, data: object, logger: str | None = None) -> None:
        if not passes_level(level, self.log_level):
            return
        params = {"level": level, "data": data} | ({"logger": logger} if logger else {})
        await self.outlet(encode_notification("notifications/message", msgspec.json.encode(params)))

    async def relay(self, method: str, params: bytes) -> None:
        if not self._hears(method, params):
            return
        if method == "notifications/progress":
            fields = _decode_fields(params)
            fields["progressToken"] = msgspec.Raw(msgspec.json.encode(self.progress_token))
            params = msgspec.json.encode(fields)
        await self.outlet(encode_notification(method, params))

    def _hears(self, method: str, params: bytes) -> bool:
        match method:
            case "notifications/progress":
                return self.progress_token is not None
            case "notifications/message":
                return passes_level(_decode_level(params).level, self.log_level)
            case "notifications/elicitation/complete":
                return self.hears_completion
            case _:
                return False


class SessionExchange(_Exchange):
    """2025-11-25: questions go out on the request's own stream and are awaited."""

    dispatcher: Dispatcher
    ask_timeout_s: float
    hears_completion = True

    @property
    def session(self) -> object:
        return self.dispatcher

    @property
    def is_lasting(self) -> bool:
        return True

    @property
    def state(self) -> str:
        return ""

    @property
    def answers(self) -> Mapping[str, Any]:
        return {}

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        for question in questions.values():
            _require(self.capabilities, question)
        answers: dict[str, Any] = {}

        async def put(key: str, question: Question) -> None:
            raw = await self.dispatcher.request(
                question.method,
                msgspec.json.encode(question.params),
                timeout_s=self.ask_timeout_s,
                outlet=self.outlet,
            )
            answers[key] = msgspec.json.decode(raw)

        if len(questions) == 1:
            [(key, question)] = questions.items()
            await put(key, question)
            return answers
        async with asyncio.TaskGroup() as group:
            for key, question in questions.items():
                group.create_task(put(key, question))
        return answers

    async def release(self) -> None:
        # Asked only here: most calls never let go, and only some outlets are a stream of their own.
        let_go: Callable[[], Awaitable[None]] | None = getattr(self.outlet, "release", None)
        if let_go is not None:
            await let_go()


class StatelessExchange(_Exchange):
    """2026-07-28: a question ends the call; the client comes back with the answer and the state we sealed."""

    answers: dict[str, Any] = {}
    state: str = ""

    @property
    def session(self) -> object:
        return self

    @property
    def is_lasting(self) -> bool:
        return False

    async def ask(self, questions: Mapping[str, Question], *, state: str = "") -> Mapping[str, Any]:
        known = {} if state else self.answers
        open_questions = {key: question for key, question in questions.items() if key not in known}
        if not open_questions and not state:
            return {key: known[key] for key in questions}
        for question in open_questions.values():
            _require(self.capabilities, question)
        raise InputRequired(open_questions, dict(known), state)

    async def release(self) -> None:
        """Nothing to let go of: a broken stream is a cancelled request in this revision."""
