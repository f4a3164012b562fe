"""One request being served by the official SDK, in either revision: what can be said and asked on the way."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

MISSING_CAPABILITY = -32021

Question = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest
Answers = Mapping[str, dict[str, Any]]
Context = ServerRequestContext[Any, Any]


class NeedsInput(Exception):
    """The stateless revision's way to ask: the request ends, and comes back with the answers."""

    def __init__(self, questions: Mapping[str, Question], answered: Answers) -> None:
        super().__init__("the client must answer first")
        self.result = types.InputRequiredResult(
            input_requests=dict(questions), request_state=json.dumps({"answered": answered})
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """A request and the way back to whoever made it."""

    ctx: Context
    params: types.InputResponseRequestParams
    arguments: Mapping[str, Any]

    @property
    def is_stateless(self) -> bool:
        """Whether the client speaks 2026-07-28."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    def supports(self, feature: str) -> bool:
        """Whether the client said it can answer such a question."""
        return feature in self._capabilities()

    async def ask(self, questions: Mapping[str, Question]) -> Answers:
        """Put questions and return the answers by key, as they were on the wire."""
        if not self.is_stateless:
            return {key: await self._request(question) for key, question in questions.items()}
        known = self._answered() | self._brought()
        waiting = {key: question for key, question in questions.items() if key not in known}
        for question in waiting.values():
            self._require(question)
        if waiting:
            raise NeedsInput(waiting, {key: value for key, value in known.items() if key in questions or self._state()})
        return known

    async def progress(self, done: float, total: float, message: str) -> None:
        """Say how far this is."""
        await self.ctx.session.report_progress(done, total, message)

    async def log(self, level: types.LoggingLevel, line: str) -> None:
        """Say something in passing, when the client wants to hear it."""
        await self.ctx.session.send_log_message(  # pyright: ignore[reportDeprecated] -- both revisions have it
            level, line, "everything", related_request_id=self.ctx.request_id
        )

    def _capabilities(self) -> dict[str, Any]:
        declared = self.ctx.session.client_capabilities
        return {} if declared is None else declared.model_dump(by_alias=True, exclude_none=True)

    def _require(self, question: Question) -> None:
        feature = question.method.partition("/")[0]
        if not self.supports(feature):
            raise MCPError(
                MISSING_CAPABILITY, f"this needs a client with {feature}", {"requiredCapabilities": {feature: {}}}
            )

    async def _request(self, question: Question) -> dict[str, Any]:
        kinds: dict[str, type[BaseModel]] = {
            "elicitation/create": types.ElicitResult,
            "sampling/createMessage": types.CreateMessageResult,
            "roots/list": types.ListRootsResult,
        }
        about = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        answer = await self.ctx.session.send_request(question, kinds[question.method], metadata=about)
        return _plain(answer)

    def _state(self) -> str:
        return self.params.request_state or ""

    def _answered(self) -> dict[str, dict[str, Any]]:
        return json.loads(self._state())["answered"] if self._state() else {}

    def _brought(self) -> dict[str, dict[str, Any]]:
        return {key: _plain(answer) for key, answer in (self.params.input_responses or {}).items()}


def _plain(answer: BaseModel) -> dict[str, Any]:
    return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


def field_of(answer: Mapping[str, Any], name: str, otherwise: str = "nobody") -> str:
    """One field of a form that came back."""
    content: dict[str, Any] = answer.get("content") or {}
    return str(content.get(name, otherwise))


def form(message: str, properties: Mapping[str, Any], *required: str) -> types.ElicitRequest:
    """A question to a person, answered by filling in a form."""
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def page(message: str, url: str, identity: str) -> types.ElicitRequest:
    """A question to a person, answered at a page."""
    return types.ElicitRequest(params=types.ElicitRequestURLParams(message=message, url=url, elicitation_id=identity))


def sample(prompt: str) -> types.CreateMessageRequest:
    """A question to the client's model."""
    said = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=100))


ROOTS = types.ListRootsRequest()
