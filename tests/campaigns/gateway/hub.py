"""A real `limen serve` with servers behind it, and what it holds: processes, descriptors."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.environment import ROOT

SETTLE_S = 20.0


def a_server(module: str, *args: str, **fields: Any) -> dict[str, Any]:
    """The settings of a server in `tests/servers`."""
    return {
        "command": sys.executable,
        "args": ["-S", "-m", f"tests.servers.{module}", *args],
        "cwd": str(ROOT),
    } | fields


@dataclass(frozen=True, slots=True)
class Hub:
    """A running hub."""

    host: str
    port: int
    pid: int

    @property
    def descriptors(self) -> int:
        """Files, pipes and sockets it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def children(self) -> list[int]:
        """The servers it has started."""
        return children_of(self.pid)

    async def settled(self, descriptors: int, children: int) -> tuple[int, int]:
        """What it holds, once that is no more than this, or when patience ends."""
        found = self.descriptors, len(self.children)
        deadline = asyncio.get_running_loop().time() + SETTLE_S
        while (found[0] > descriptors or found[1] > children) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)
            found = self.descriptors, len(self.children)
        return found


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


@asynccontextmanager
async def a_hub(limen: Path, env: Mapping[str, str], servers: Mapping[str, Any], **more: Any) -> AsyncGenerator[Hub]:
    """Start a hub in the home of `env`, and end it."""
    config = Path(env["LIMEN_HOME"]) / "limen.yaml"
    config.write_text(json.dumps({"toolsets": ["hub"], "servers": servers, **more}))
    with (config.parent / "hub.log").open("w+") as log:
        command = [str(limen), "serve", "--json", "--port", "0", "--config", str(config)]
        process = await asyncio.create_subprocess_exec(*command, env=env, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            told = await process.stdout.readline()
            if not told:
                log.seek(0)
                raise RuntimeError(f"the hub did not start: {log.read()}")
            host, _, port = json.loads(told)["url"].removeprefix("http://").partition("/")[0].rpartition(":")
            yield Hub(host, int(port), process.pid)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
