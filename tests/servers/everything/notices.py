"""Tools that say something on the way: progress, log messages, changes, and one that waits to be cancelled."""

import asyncio
from dataclasses import dataclass, field

from limen.calls.call import Call
from limen.calls.changes import ChangeFeed, ListChanged, ListedKind, ResourceUpdated
from limen.toolsets.provider import Reply, Tool, text
from tests.servers.everything.content import Nothing
from tests.servers.everything.reading import WATCHED

STEP_S = 0.05


async def _logging(_: Nothing, call: Call) -> Reply:
    for line in ("begun", "half way", "done"):
        await call.exchange.log("info", line, "everything")
        await asyncio.sleep(STEP_S)
    return Reply([text("logged three lines")])


async def _logging_at_once(_: Nothing, call: Call) -> Reply:
    await call.exchange.log("info", "said in passing", "everything")
    return Reply([text("logged a line")])


async def _progress(_: Nothing, call: Call) -> Reply:
    for done in (0, 50, 100):
        await call.exchange.progress(done, 100, f"{done} of 100")
        await asyncio.sleep(STEP_S)
    return Reply([text("reported three times")])


async def _reconnection(_: Nothing, call: Call) -> Reply:
    await call.exchange.release()
    await asyncio.sleep(2 * STEP_S)
    return Reply([text("told after the stream was let go")])


@dataclass(slots=True)
class Patience:
    """Waits until it is cancelled, and lets another call see that it was."""

    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, _: Nothing, call: Call) -> Reply:
        """Say that the wait has begun, then wait for ever."""
        self.cancelled.clear()
        await call.exchange.progress(0, 1, "waiting")
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return Reply([text("never said")])

    async def witness(self, _: Nothing, __: Call) -> Reply:
        """Return once a wait has been cancelled."""
        await self.cancelled.wait()
        return Reply([text("cancelled")])


@dataclass(slots=True)
class Changes:
    """Adds and removes a tool and a prompt, and tells everyone who listens."""

    feed: ChangeFeed
    shown: set[ListedKind] = field(default_factory=set[ListedKind])

    async def toggle_tool(self, _: Nothing, __: Call) -> Reply:
        """Change the list of tools."""
        return self._toggle("tool")

    async def toggle_prompt(self, _: Nothing, __: Call) -> Reply:
        """Change the list of prompts."""
        return self._toggle("prompt")

    async def touch(self, _: Nothing, __: Call) -> Reply:
        """Say that the watched resource is new."""
        self.feed.publish(ResourceUpdated(WATCHED))
        return Reply([text("told")])

    def _toggle(self, kind: ListedKind) -> Reply:
        if kind in self.shown:
            self.shown.remove(kind)
        else:
            self.shown.add(kind)
        self.feed.publish(ListChanged(kind))
        return Reply([text("shown" if kind in self.shown else "hidden")])


def tools(changes: Changes) -> tuple[Tool, ...]:
    """Those of this module; some of them share a state."""
    patience = Patience()
    return (
        Tool("test_tool_with_logging", "Logs three lines.", Nothing, _logging),
        Tool("test_logging_tool", "Logs a line and answers.", Nothing, _logging_at_once),
        Tool("test_tool_with_progress", "Reports progress three times.", Nothing, _progress),
        Tool("test_reconnection", "Lets its stream go before it answers.", Nothing, _reconnection),
        Tool("test_wait", "Waits until it is cancelled.", Nothing, patience.wait),
        Tool("test_wait_witness", "Answers once a wait was cancelled.", Nothing, patience.witness),
        Tool("test_trigger_tool_change", "Changes the list of tools.", Nothing, changes.toggle_tool),
        Tool("test_trigger_prompt_change", "Changes the list of prompts.", Nothing, changes.toggle_prompt),
        Tool("test_trigger_resource_update", "Updates the watched resource.", Nothing, changes.touch),
    )
