"""Takes a REST request onto the road: every one becomes a call, seen by policy, tier and audit like any other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from limen.calls.call import Call, Caller, Exchange, Kind
from limen.calls.oneway import OneWay
from limen.calls.pipeline import Pipeline
from limen.errors import Denied, NotFound
from limen.ids import new_call_id

__all__ = ["Road", "ToolRefused"]

METHODS: Final[Mapping[Kind, str]] = {"tool": "tools/call", "operation": "operations/call"}
CLIENT_CHARS: Final = 64

T = TypeVar("T")


class ToolRefused(Exception):
    """A tool ran and reported failure; its public code and message came through."""

    def __init__(self, code: str, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class _Told(msgspec.Struct, frozen=True):
    message: str = ""
    retryable: bool = False


class _Block(msgspec.Struct, frozen=True):
    text: str = ""


class _ToolResult(msgspec.Struct, frozen=True, rename="camel"):
    content: list[_Block] = []
    structured_content: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True, slots=True)
class Road:
    """The way of one caller to what the hub can do."""

    pipeline: Pipeline
    caller: Caller

    @classmethod
    def of(cls, pipeline: Pipeline, caller: Caller, client: str) -> "Road":
        """The road of a caller whose program names itself like this."""
        label = client.encode("ascii", "replace").decode()[:CLIENT_CHARS]
        return cls(pipeline, replace(caller, client=f"rest {label}".strip()))

    async def operate(self, name: str, args: msgspec.Struct, answer: type[T], *, exchange: Exchange | None = None) -> T:
        """Run an operation.

        Raises:
            Denied: it is not for this caller.
            LimenError: it failed.
        """
        payload, _, _ = await self._walk("operation", name, msgspec.json.encode(args), exchange)
        return msgspec.json.decode(payload, type=answer)

    async def use(self, name: str, arguments: Mapping[str, Any]) -> bytes:
        """Run a tool; what is left out of its arguments is None. Its structured answer comes back as JSON.

        Raises:
            Denied: it is not for this caller.
            ToolRefused: it reported failure.
            LimenError: it failed.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        payload, is_error, code = await self._walk("tool", name, msgspec.json.encode(given), None)
        result = msgspec.json.decode(payload, type=_ToolResult)
        if not is_error:
            return bytes(result.structured_content)
        told = _told(result)
        message = told.message or "\n".join(block.text for block in result.content)
        raise ToolRefused(code, message, retryable=told.retryable)

    async def _walk(
        self, kind: Kind, name: str, arguments: bytes, exchange: Exchange | None
    ) -> tuple[bytes, bool, str]:
        call = Call(new_call_id(), METHODS[kind], kind, name, arguments, self.caller, exchange or OneWay())
        try:
            result = await self.pipeline.run(call)
        except NotFound as error:
            # Every route is public knowledge, so a caller may hear that this one is closed to them, and why.
            if type(error) is NotFound and error.facts.get("name") == name:
                raise Denied(
                    f"{name} is not served to you: raise `tier`, or add its family to `toolsets`", rule="exposure"
                ) from None
            raise
        return result.payload, result.is_error, result.code


def _told(result: _ToolResult) -> _Told:
    try:
        return msgspec.json.decode(result.structured_content, type=_Told)
    except msgspec.DecodeError:
        return _Told()
