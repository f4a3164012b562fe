"""Tools that say something on the way, and what changes by them: lists, resources, pages a person must visit."""

from dataclasses import dataclass, field

import anyio
from mcp import UrlElicitationRequiredError, types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from tests.servers.sdk_everything.asking import Turn, field_of, form, sample
from tests.servers.sdk_everything.tools import Offer, offer, texts, told

STEP_S = 0.05
WATCHED = "test://watched-resource"
LEVELS: list[types.LoggingLevel] = ["debug", "info", "warning", "error"]


async def _logging(turn: Turn) -> types.CallToolResult:
    for line in ("begun", "half way", "done"):
        await turn.log("info", line)
        await anyio.sleep(STEP_S)
    return told("logged three lines")


async def _logging_at_once(turn: Turn) -> types.CallToolResult:
    for level in LEVELS:
        await turn.log(level, f"said at {level}")
    return told("logged a line of each level")


async def _progress(turn: Turn) -> types.CallToolResult:
    for done in (0, 50, 100):
        await turn.progress(done, 100, f"{done} of 100")
        await anyio.sleep(STEP_S)
    return told("reported three times")


async def _reconnection(turn: Turn) -> types.CallToolResult:
    if turn.ctx.close_sse_stream is not None:
        await turn.ctx.close_sse_stream()
    await anyio.sleep(2 * STEP_S)
    return told("told after the stream was let go")


async def _all_of_it(turn: Turn) -> types.CallToolResult:
    """Everything a call can say and ask, each with the word it was given, so that a stray one is seen."""
    word = str(turn.arguments["word"])
    await turn.progress(1, 2, f"progress for {word}")
    await turn.log("info", f"log for {word}")
    asked = form(f"form for {word}", {"name": {"type": "string"}}, "name")
    answers = await turn.ask({"name": asked, "line": sample(f"prompt for {word}")})
    line = answers["line"]["content"]["text"]
    return told(f"result for {word}: {field_of(answers['name'], 'name')}, {line}")


@dataclass(slots=True)
class Waits:
    """Calls that wait until they are cancelled, and others that see it."""

    cancelled: anyio.Event = field(default_factory=anyio.Event)

    async def wait(self, turn: Turn) -> types.CallToolResult:
        """Say that the wait has begun, then wait for ever."""
        self.cancelled = anyio.Event()
        await turn.progress(0, 1, "waiting")
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        return told("never said")

    async def witness(self, _: Turn) -> types.CallToolResult:
        """Return once the wait was cancelled."""
        await self.cancelled.wait()
        return told("cancelled")


@dataclass(slots=True)
class Changes:
    """What comes and goes, and who is told."""

    bus: InMemorySubscriptionBus
    shown: set[str] = field(default_factory=set[str])
    watched: set[str] = field(default_factory=set[str])
    visited: set[str] = field(default_factory=set[str])

    async def toggle_tool(self, turn: Turn) -> types.CallToolResult:
        """Change the list of tools."""
        self.shown ^= {"tool"}
        await self.bus.publish(ToolsListChanged())
        if not turn.is_stateless:
            await turn.ctx.session.send_tool_list_changed()
        return told("shown" if "tool" in self.shown else "hidden")

    async def toggle_prompt(self, turn: Turn) -> types.CallToolResult:
        """Change the list of prompts."""
        self.shown ^= {"prompt"}
        await self.bus.publish(PromptsListChanged())
        if not turn.is_stateless:
            await turn.ctx.session.send_prompt_list_changed()
        return told("shown" if "prompt" in self.shown else "hidden")

    async def touch(self, turn: Turn) -> types.CallToolResult:
        """Say that the watched resource is new, to those who want to know."""
        await self.bus.publish(ResourceUpdated(uri=WATCHED))
        if not turn.is_stateless and WATCHED in self.watched:
            await turn.ctx.session.send_resource_updated(WATCHED)
        return told("told")

    async def tell_watched(self, _: Turn) -> types.CallToolResult:
        """What sessions have subscribed to."""
        return told(", ".join(sorted(self.watched)) or "nothing")

    async def sign_in(self, turn: Turn) -> types.CallToolResult:
        """Do nothing before a page was visited; the session revision's -32042."""
        identity = str(turn.arguments["page"])
        if identity not in self.visited:
            asked = types.ElicitRequestURLParams(
                message="Sign in first.", url=f"https://sign-in.example/{identity}", elicitation_id=identity
            )
            raise UrlElicitationRequiredError([asked])
        return told(f"signed in at {identity}")

    async def visit(self, turn: Turn) -> types.CallToolResult:
        """What the page does when somebody was there."""
        identity = str(turn.arguments["page"])
        self.visited.add(identity)
        if not turn.is_stateless:
            await turn.ctx.session.send_elicit_complete(identity)
        return told("visited")


def tools(changes: Changes) -> tuple[Offer, ...]:
    """Those of this module."""
    waits = Waits()
    page = texts(page="Which one.")
    return (
        offer("test_tool_with_logging", "Logs three lines.", _logging),
        offer("test_logging_tool", "Logs a line of each level and answers.", _logging_at_once),
        offer("test_tool_with_progress", "Reports progress three times.", _progress),
        offer("test_reconnection", "Lets its stream go before it answers.", _reconnection),
        offer("test_all_of_it", "Reports, logs, asks and answers with a word.", _all_of_it, texts(word="The word.")),
        offer("test_wait", "Waits until it is cancelled.", waits.wait),
        offer("test_wait_witness", "Answers once a wait was cancelled.", waits.witness),
        offer("test_trigger_tool_change", "Changes the list of tools.", changes.toggle_tool),
        offer("test_trigger_prompt_change", "Changes the list of prompts.", changes.toggle_prompt),
        offer("test_trigger_resource_update", "Updates the watched resource.", changes.touch),
        offer("test_watched", "Names the resources that are subscribed to.", changes.tell_watched),
        offer("test_sign_in", "Wants a page visited first.", changes.sign_in, page),
        offer("test_visit_page", "Visits that page.", changes.visit, page),
    )
