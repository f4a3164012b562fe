"""Puts the toolset together; `limen serve` finds `build` by its entry point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limen.calls.call import Call, Capability, Kind, Result
from limen.calls.changes import ChangeFeed
from limen.calls.ports import Provider
from limen.toolsets.provider import Prompt, Reply, Tool, Toolset, text
from tests.servers.everything import content, notices, questions, reading
from tests.servers.everything.content import Nothing


async def _fleeting_tool(_: Nothing, __: Call) -> Reply:
    return Reply([text("here for now")])


async def _fleeting_prompt(_: Call, __: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text("here for now")}]


@dataclass(frozen=True, slots=True)
class Everything:
    """What is always there, and what comes and goes."""

    lasting: Toolset
    fleeting: Toolset
    changes: notices.Changes

    @property
    def source(self) -> str:
        """The toolset's name."""
        return self.lasting.source

    async def list(self, kind: Kind) -> Sequence[Capability]:
        """All of a kind as of now."""
        shown = await self.fleeting.list(kind) if kind in self.changes.shown else ()
        return [*await self.lasting.list(kind), *shown]

    def find(self, kind: Kind, name: str) -> Capability | None:
        """By name or URI."""
        found = self.lasting.find(kind, name)
        if found is None and kind in self.changes.shown:
            found = self.fleeting.find(kind, name)
        return found

    async def run(self, call: Call, capability: Capability) -> Result:
        """Do it, whichever of the two knows how."""
        home = self.lasting if self.lasting.find(call.kind, call.name) else self.fleeting
        return await home.run(call, capability)


def build(feed: ChangeFeed) -> Provider:
    """The whole toolset."""
    changes = notices.Changes(feed)
    return Everything(
        Toolset(
            "everything",
            tools=[*content.TOOLS, *notices.tools(changes), *questions.TOOLS],
            resources=reading.RESOURCES,
            templates=reading.TEMPLATES,
            prompts=[*reading.PROMPTS, questions.PROMPT],
        ),
        Toolset(
            "everything",
            tools=[Tool("test_fleeting_tool", "Comes and goes.", Nothing, _fleeting_tool)],
            prompts=[Prompt("test_fleeting_prompt", "Comes and goes.", _fleeting_prompt)],
        ),
        changes,
    )
