"""What is in flight on one connection: requests being answered, requests whose answer is awaited. It sends nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from limen.errors import DuplicateRequest, Overloaded
from limen.protocol.frames import Request, RequestId
from limen.protocol.refusals import refusal

__all__ = [
    "MAX_IN_FLIGHT",
    "Inbound",
    "Outbound",
    "ProgressHandler",
    "duplicate",
    "overloaded",
    "read_cancelled",
    "read_progress",
    "with_token",
]

MAX_IN_FLIGHT = 1024
"""Requests of one connection being answered or whose answer nobody reads; past it they are refused, one by one."""

ProgressHandler = Callable[[bytes], None]
"""Hears the params of each `notifications/progress`, unread."""


class Inbound(msgspec.Struct):
    """A request being answered."""

    method: str
    task: "asyncio.Task[Any] | None"
    withdrawn: bool = False

    def take_back(self) -> None:
        """Its sender no longer wants the answer."""
        if self.withdrawn:
            return
        self.withdrawn = True
        if self.task is not None:
            self.task.cancel()


class Outbound(msgspec.Struct):
    """A request waiting for its answer."""

    future: "asyncio.Future[bytes]"
    timeout_s: float
    on_progress: ProgressHandler | None
    context: object = None
    """Whatever the one who asked wants to find again when the other side speaks while it is at work."""
    scope: asyncio.Timeout | None = None
    """What ends the wait while the request itself is still being sent."""
    deadline: float = 0.0
    """When the wait ends, by the loop's clock, once it is sent."""


class _Cancelled(msgspec.Struct, rename="camel"):
    request_id: RequestId
    reason: str = ""


class _Progress(msgspec.Struct, rename="camel"):
    progress_token: RequestId


_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode


def read_cancelled(params: bytes) -> RequestId:
    """The request that `notifications/cancelled` takes back; raises `msgspec.DecodeError`."""
    return _decode_cancelled(params).request_id


def read_progress(params: bytes) -> RequestId:
    """The token in `notifications/progress`; raises `msgspec.DecodeError`."""
    return _decode_progress(params).progress_token


def duplicate(request: Request) -> bytes:
    """The refusal of a request whose id is taken."""
    return refusal(request.id, DuplicateRequest(f"request id {request.id!r} is still in flight", field="id"))


def overloaded(request: Request) -> bytes:
    """The refusal of a request too many."""
    return refusal(request.id, Overloaded(f"{MAX_IN_FLIGHT} requests are in flight already"))


def with_token(params: bytes, token: RequestId) -> bytes:
    """The params of a request that wants to hear of its progress."""
    fields = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
    meta = msgspec.json.decode(fields.get("_meta", msgspec.Raw(b"{}")), type=dict[str, Any])
    meta["progressToken"] = token
    fields["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(fields)
