"""What each MCP method does, in either revision: read its parameters, walk the road, shape the result."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from limen.calls.call import Call, Caller, Exchange, Kind, Result
from limen.calls.pipeline import Pipeline
from limen.errors import InvalidArguments
from limen.ids import new_call_id
from limen.protocol.frames import Request
from limen.server.params import CallParams, CompleteParams, ListParams, Params, ReadParams, read_params

__all__ = ["METHODS", "Method", "Turn"]


class Turn(msgspec.Struct, frozen=True):
    """One request being answered: who asks, and the way back to them."""

    pipeline: Pipeline
    request: Request
    caller: Caller
    exchange: Exchange

    def walk(self, kind: Kind, name: str, arguments: bytes) -> Awaitable[Result]:
        """Take the road with this request."""
        request = self.request
        call = Call(new_call_id(), request.method, kind, name, arguments, self.caller, self.exchange, request.params)
        return self.pipeline.run(call)


class Method(msgspec.Struct, frozen=True):
    """How one method is read and answered."""

    decoder: msgspec.json.Decoder[Any]
    handle: Callable[[Turn, Any], Awaitable[Result]]

    def read(self, request: Request) -> Any:
        """The typed params; raises `InvalidArguments`."""
        try:
            return self.decoder.decode(request.params)
        except msgspec.DecodeError:
            # Once more, for its words.
            return read_params(self.decoder, request.params)


def _lists(kind: Kind, key: bytes) -> Callable[[Turn, ListParams], Awaitable[Result]]:
    async def handle(turn: Turn, params: ListParams) -> Result:
        if params.cursor is not None:
            raise InvalidArguments(
                "cursor: lists here come in one page, so no cursor was ever given out", field="cursor"
            )
        found = await turn.pipeline.list(kind, turn.caller)
        return Result(b'{"%b":[%b]}' % (key, b",".join([capability.definition for capability in found])))

    return handle


def _call_tool(turn: Turn, params: CallParams) -> Awaitable[Result]:
    return turn.walk("tool", params.name, _object(params.arguments, "arguments"))


def _get_prompt(turn: Turn, params: CallParams) -> Awaitable[Result]:
    return turn.walk("prompt", params.name, _object(params.arguments, "arguments"))


def _on_resource(turn: Turn, params: ReadParams) -> Awaitable[Result]:
    return turn.walk("resource", params.uri, b"{}")


def _complete(turn: Turn, params: CompleteParams) -> Awaitable[Result]:
    argument = _object(params.argument, "argument")
    match params.ref.type:
        case "ref/prompt":
            return turn.walk("prompt", params.ref.name, argument)
        case "ref/resource":
            return turn.walk("template", params.ref.uri, argument)
        case other:
            raise InvalidArguments(
                f"ref.type: expected 'ref/prompt' or 'ref/resource', not {other!r}", field="ref.type"
            )


def _object(raw: msgspec.Raw, field: str) -> bytes:
    data = bytes(raw)
    if data[:1] == b"{":
        return data
    if data == b"null":
        return b"{}"
    raise InvalidArguments(f"{field}: expected an object", field=field)


def _method(params: type[Params], handle: Callable[[Turn, Any], Awaitable[Result]]) -> Method:
    return Method(msgspec.json.Decoder(params), handle)


METHODS: dict[str, Method] = {
    "tools/list": _method(ListParams, _lists("tool", b"tools")),
    "tools/call": _method(CallParams, _call_tool),
    "prompts/list": _method(ListParams, _lists("prompt", b"prompts")),
    "prompts/get": _method(CallParams, _get_prompt),
    "resources/list": _method(ListParams, _lists("resource", b"resources")),
    "resources/templates/list": _method(ListParams, _lists("template", b"resourceTemplates")),
    "resources/read": _method(ReadParams, _on_resource),
    "completion/complete": _method(CompleteParams, _complete),
}
"""What both revisions have; each adds its own to these."""

SUBSCRIBE: Method = _method(ReadParams, _on_resource)
"""`resources/subscribe` and `resources/unsubscribe`, which only sessions have."""
