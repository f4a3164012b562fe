"""Lets a command take the road: opens the hub for one call, as the person at this machine, and reads the answer."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from limen.app import Limen, open_limen
from limen.calls.call import Call, Kind
from limen.calls.oneway import OneWay
from limen.cli.invocation import Invocation
from limen.cli.loading import load_settings, tell_problems
from limen.cli.loop import run_async
from limen.errors import LimenError, error_of
from limen.ids import new_call_id
from limen.shapes import is_object

__all__ = ["Road", "call_once", "open_road"]

_METHODS: Mapping[Kind, str] = {"tool": "tools/call", "operation": "operations/call"}


class Road:
    """The way from a command to what the hub can do."""

    def __init__(self, limen: Limen) -> None:
        self.limen = limen

    async def call(self, name: str, arguments: Mapping[str, Any], *, kind: Kind = "tool") -> Any:
        """What the tool or operation answers, as plain data.

        Raises:
            LimenError: it failed; a tool's own failure keeps its code.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        call = Call(new_call_id(), _METHODS[kind], kind, name, msgspec.json.encode(given), self.limen.owner, OneWay())
        result = await self.limen.pipeline.run(call)
        payload = msgspec.json.decode(result.payload)
        if result.is_error:
            raise _failure(result.code, payload)
        return payload["structuredContent"] if kind == "tool" else payload


@asynccontextmanager
async def open_road(invocation: Invocation) -> AsyncGenerator[Road, None]:
    """Open the hub as the settings say, for as long as the command runs."""
    loaded = load_settings(invocation)
    tell_problems(invocation, loaded)
    async with open_limen(loaded.settings, loaded.paths, for_clients=False) as limen:
        yield Road(limen)


def call_once(invocation: Invocation, name: str, arguments: Mapping[str, Any], *, kind: Kind = "tool") -> Any:
    """One call and nothing else, as most commands make it.

    Raises:
        LimenError: it failed.
    """

    async def call() -> Any:
        async with open_road(invocation) as road:
            return await road.call(name, arguments, kind=kind)

    return run_async(call())


def _failure(code: str, payload: Mapping[str, Any]) -> LimenError:
    told = payload.get("structuredContent")
    if is_object(told) and "code" in told:
        return error_of(told["code"], told["message"])
    return error_of(code, "\n".join(block.get("text", "") for block in payload["content"]))
