"""The REST door of a house whose brains are real, and a client that says only what a test is about."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from limen.brain.access import open_access
from limen.brain.brains import Brains
from limen.brain.rules import BrainRules
from limen.calls.ports import Policy
from limen.toolsets.memory import memory_toolset
from limen.toolsets.store import store_operations
from limen.web.door import RestDoor
from limen.web.events import EventStreams
from tests.house import House, a_house
from tests.road.doors import Hub, open_hub

JSON = {"content-type": "application/json"}
MARKDOWN = {"content-type": "text/markdown"}


@dataclass(frozen=True, slots=True)
class Rest:
    """A client of the hub, and what stands behind it."""

    hub: Hub
    door: RestDoor
    house: House
    brains: Brains
    folder: Path

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request; a path that is not absolute is one of the brain `notes`."""
        whole = path if path.startswith("/") else f"/v1/brains/notes/{path}"
        return await self.hub.client.request(method, whole, **more)

    async def put(self, path: str, content: bytes | str = b"x", **headers: str) -> httpx2.Response:
        """Write a document."""
        body = content.encode() if isinstance(content, str) else content
        return await self.ask("PUT", "documents", params={"path": path}, content=body, headers=_heads(headers))

    async def append(self, path: str, content: bytes, **headers: str) -> httpx2.Response:
        """Add to a document."""
        return await self.ask(
            "POST", "documents/append", params={"path": path}, content=content, headers=_heads(headers)
        )

    async def read(self, path: str, **headers: str) -> httpx2.Response:
        """Read a document."""
        return await self.ask("GET", "documents/read", params={"path": path}, headers=_heads(headers))

    async def delete(self, path: str, **headers: str) -> httpx2.Response:
        """Take a document away."""
        return await self.ask("DELETE", "documents", params={"path": path}, headers=_heads(headers))

    async def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        """Send JSON."""
        return await self.ask("POST", path, content=json.dumps(body).encode(), headers=JSON | _heads(headers))

    async def paths(self, **params: Any) -> list[str]:
        """What is listed."""
        found = await self.ask("GET", "documents", params={"recursive": "true"} | params)
        assert found.status_code == 200, found.text
        return [item["path"] for item in found.json()["items"]]

    async def clear(self) -> None:
        """Take every document away."""
        paths = await self.paths(include_generated="true")
        if paths:
            ops = [{"type": "delete", "path": path} for path in paths]
            assert (await self.post("documents/batch-ops", {"reason": "clear", "ops": ops})).status_code == 200

    async def still_serves(self) -> bool:
        """Whether the next good request of each kind is answered."""
        written = await self.put("still/here.md", "here")
        return (written.status_code, (await self.read("still/here.md")).text) == (204, "here")


def _heads(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def told(response: httpx2.Response) -> tuple[int, str, str]:
    """The status of a problem, its code on the wire and Limen's own."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["detail"]
    return response.status_code, problem["code"], problem["limen_code"]


@asynccontextmanager
async def open_rest(folder: Path, *, policy: Policy | None = None, ping_s: float = 25.0) -> AsyncGenerator[Rest, None]:
    """A hub over the brains of a folder."""
    async with AsyncExitStack() as stack:
        access = await stack.enter_async_context(
            open_access(folder, BrainRules(embedder="none", file_roots=(folder.parent / "files",)))
        )
        house = a_house(providers={"memory": memory_toolset(access), "store": store_operations(access)}, policy=policy)
        hub = await stack.enter_async_context(open_hub(house))
        door = RestDoor(house.pipeline, lambda scope: hub.door.identify(scope), streams=EventStreams(ping_s))
        hub.door.more_routes.update(door.routes)
        hub.door.more_prefixes.update(door.prefixes)
        stack.callback(door.stop)
        yield Rest(hub, door, house, await access.get(), folder)
