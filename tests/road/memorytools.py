"""The memory tools and the store's operations over real brains in a folder, called the way every door calls them."""

import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limen.brain.access import BrainAccess, open_access
from limen.brain.rules import BrainRules
from limen.calls.call import Kind
from limen.errors import LimenError
from limen.toolsets.memory import memory_toolset
from limen.toolsets.store import store_operations
from tests.house import House, a_call, a_house

__all__ = ["Failed", "Memory", "open_memory"]

_METHODS: dict[Kind, str] = {"tool": "tools/call", "operation": "operations/call"}


class Failed(Exception):
    """A call that failed, by its code; nothing a caller does may end as `internal`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        assert code != "internal", message
        self.code = code


@dataclass(frozen=True, slots=True)
class Memory:
    """Somebody who may use everything."""

    house: House
    access: BrainAccess
    inbox: Path
    """Where tools may read files from."""

    async def tool(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        return (await self._call(tool, "tool", arguments))["structuredContent"]

    async def run(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """What an operation answers."""
        return await self._call(operation, "operation", arguments)

    async def code(self, tool: str, **arguments: Any) -> str:
        """The code a tool fails with; empty when it does not."""
        try:
            await self.tool(tool, **arguments)
        except Failed as failure:
            return failure.code
        return ""

    async def read(self, path: str) -> bytes:
        """What a document holds."""
        return b64decode((await self.run("document_read", path=path))["content"])

    async def found(self, query: str, **more: Any) -> list[str]:
        """The paths a search finds, best first."""
        return [hit["path"] for hit in (await self.tool("memory_search", query=query, **more))["hits"]]

    async def root(self) -> Path:
        """The folder of the one brain."""
        brains = await self.access.get()
        return brains.library.folder_of((await brains.list())[0])

    async def git_has_caught_up(self) -> bool:
        """Wait until git has followed the journal."""
        opened = await (await self.access.get()).open()
        return await opened.run(opened.git.catch_up, 10.0)

    async def still_works(self) -> bool:
        """Whether the next good calls of each kind are answered."""
        kept = await self.tool("memory_remember", content="# Still\n\nThe stillworkingword is here.")
        return kept["path"] in await self.found("stillworkingword")

    async def _call(self, name: str, kind: Kind, arguments: dict[str, Any]) -> dict[str, Any]:
        given = json.dumps(arguments).encode()
        try:
            result = await self.house.pipeline.run(a_call(name, kind=kind, method=_METHODS[kind], arguments=given))
        except LimenError as error:
            raise Failed(error.code, str(error)) from error
        payload = json.loads(result.payload)
        if result.is_error:
            told = payload.get("structuredContent") or {"code": "invalid_arguments"}
            raise Failed(told["code"], payload["content"][0]["text"])
        return payload


@asynccontextmanager
async def open_memory(folder: Path, *, embedder: str = "none") -> AsyncGenerator[Memory, None]:
    """The tools over the brains of a folder, as a process would open them."""
    inbox = folder / "in"
    inbox.mkdir(parents=True, exist_ok=True)
    rules = BrainRules(embedder="wordllama" if embedder == "wordllama" else "none", file_roots=(inbox,))
    async with open_access(folder / "brains", rules) as access:
        providers = {"memory": memory_toolset(access), "store": store_operations(access)}
        yield Memory(a_house(providers=providers), access, inbox)
