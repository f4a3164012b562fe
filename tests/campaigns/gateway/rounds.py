"""The four rounds of this campaign, each against a real hub with real servers behind it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.campaigns.gateway.clients import Client, Message, many
from tests.campaigns.gateway.hub import Hub, a_hub, a_server
from tests.environment import ROOT

BACKENDS = 10
WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A `limen` and the environment of a home for it."""

    limen: Path
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """What a round showed."""

    name: str
    figures: Mapping[str, Any]
    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return not self.failures


async def _listed(client: Client, least: int) -> None:
    """Ask until so many tools are there."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if len((await client.ask("tools/list", {}))["result"]["tools"]) >= least:
                return
            await asyncio.sleep(0.05)


def _text(answer: Message) -> str:
    if "result" not in answer:
        raise AssertionError(f"no result: {answer}")
    return answer["result"]["content"][0]["text"]


@dataclass(slots=True)
class Toll:
    """What became of the calls of a round."""

    hub: Hub
    failures: list[str] = field(default_factory=list[str])
    crashed: int = 0
    answered: int = 0
    is_over: bool = False

    async def crash(self, server: str, count: int) -> None:
        """End a server so often, and call it again each time."""
        client = Client(self.hub.host, self.hub.port)
        await client.open()
        for turn in range(count):
            died, _ = await client.call(f"{server}__crash", {})
            if died.get("error", {}).get("data", {}).get("code") != "channel_closed":
                self.failures.append(f"a crash was answered {died}")
            self.crashed += 1
            await self._echo(client, server, {"turn": turn, "of": server})
        await client.close()

    async def work(self, server: str) -> None:
        """Call a server without a pause."""
        client = Client(self.hub.host, self.hub.port)
        await client.open()
        while not self.is_over:
            await self._echo(client, server, {"number": self.answered, "of": server})
            self.answered += 1
        await client.close()

    async def _echo(self, client: Client, server: str, said: Message) -> None:
        answer, _ = await client.call(f"{server}__echo", said)
        if "result" not in answer or json.loads(_text(answer)) != said:
            self.failures.append(f"{said} was answered {answer}")


async def crashes(stage: Stage, count: int, frail: int = 4) -> Found:
    """Servers that die over and over, while others are called without a pause."""
    servers = {f"frail{n}": a_server("faults.crashing") for n in range(frail)}
    servers |= {f"sound{n}": a_server("speaking") for n in range(2)}
    async with a_hub(stage.limen, stage.env, servers) as hub:
        first = Client(hub.host, hub.port)
        await first.open()
        await _listed(first, frail * 4 + 2)
        for name in servers:
            _text((await first.call(f"{name}__echo", {}))[0])
        await first.close()
        before, toll = (hub.descriptors, len(hub.children)), Toll(hub)
        async with asyncio.TaskGroup() as group:
            for number in range(2):
                group.create_task(toll.work(f"sound{number}"))
            await many(frail, lambda number: toll.crash(f"frail{number}", count // frail))
            toll.is_over = True
        after = await hub.settled(*before)
    if after[0] > before[0] or after[1] > before[1]:
        toll.failures.append(f"descriptors and processes were {before} and are {after}")
    figures = {"crashed": toll.crashed, "answered": toll.answered, "before": before, "after": after}
    return Found("crashes", figures, tuple(toll.failures))


async def killed(stage: Stage) -> Found:
    """`kill -9` of the hub: its servers, and what they have started, are gone."""
    servers = {f"sound{n}": a_server("speaking") for n in range(3)}
    servers |= {"hanging": a_server("faults.hanging"), "slow": a_server("faults.slow")}
    failures: list[str] = []
    async with a_hub(stage.limen, stage.env, servers) as hub:
        client = Client(hub.host, hub.port)
        await client.open()
        await _listed(client, 6)
        family = hub.children
        os.kill(hub.pid, signal.SIGKILL)
        await client.close()
        left = await _survivors(family)
    if left:
        failures.append(f"{left} outlived the hub")
    if len(family) < len(servers):
        failures.append(f"only {len(family)} of {len(servers)} servers ran")
    return Found("killed", {"servers": len(family), "left": len(left)}, tuple(failures))


async def _survivors(family: list[int]) -> list[int]:
    """Those that still run when patience ends."""
    left = family
    for _ in range(int(WAIT_S / 0.02)):
        left = [pid for pid in family if _is_running(pid)]
        if not left:
            break
        await asyncio.sleep(0.02)
    return left


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def crowd(stage: Stage, clients: int, calls: int) -> Found:
    """Many clients at once to ten servers; every answer must be the one that was asked for."""
    servers = {f"b{n}": a_server("speaking") for n in range(BACKENDS)}
    failures: list[str] = []
    told = {"asked": 0, "answered": 0}
    more: dict[str, Any] = {"server": {"max_connections": clients * 2 + 64, "max_sessions": clients * 2 + 64}}
    async with a_hub(stage.limen, stage.env, servers, **more) as hub:
        first = Client(hub.host, hub.port)
        await first.open()
        await _listed(first, BACKENDS)
        await first.close()

        async def visit(number: int) -> None:
            client = Client(hub.host, hub.port)
            await client.open()
            for turn in range(calls):
                said = {"client": number, "turn": turn, "filling": "x" * (number % 7) * 100}
                told["asked"] += 1
                answer, _ = await client.call(f"b{(number + turn) % BACKENDS}__echo", said)
                if "result" not in answer or json.loads(_text(answer)) != said:
                    failures.append(f"{said} was answered {str(answer)[:300]}")
                told["answered"] += 1
            await client.close()

        await many(clients, visit)
    if told["asked"] != clients * calls or told["answered"] != told["asked"]:
        failures.append(f"{told['answered']} answers to {told['asked']} calls")
    return Found("crowd", told | {"clients": clients}, tuple(failures))


def answer(asked: Message) -> Any:
    """What a client says to a question: the mark in it, told back."""
    if asked["method"] == "sampling/createMessage":
        said = asked["params"]["messages"][0]["content"]["text"]
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": f"re {said}"}}
    return {"action": "accept", "content": {"mark": asked["params"]["message"]}}


async def talks(stage: Stage, door: str, calls: int) -> Found:
    """Calls of as many clients at once on one shared server; all it says at a call must come to its caller alone."""
    failures: list[str] = []
    told = {"calls": 0, "heard": 0}
    async with _talker(door) as entry, a_hub(stage.limen, stage.env, {"talker": entry}) as hub:
        first = Client(hub.host, hub.port)
        await first.open()
        await _listed(first, 1)
        await first.close()

        async def converse(number: int) -> None:
            mark = f"mark-{number}"
            client = Client(hub.host, hub.port, answer=answer)
            await client.open()
            result, heard = await client.call("talker__talk", {"mark": mark}, progressToken=f"t{number}")
            failures.extend(_judge(mark, f"t{number}", result, heard))
            told["calls"] += 1
            told["heard"] += len(heard)
            await client.close()

        await many(calls, converse)
    if told["calls"] != calls:
        failures.append(f"{told['calls']} of {calls} calls came back")
    return Found(f"talks over {door}", told, tuple(failures))


def _judge(mark: str, token: str, result: Message, heard: list[Message]) -> list[str]:
    wanted = {
        "notifications/progress": 2,
        "notifications/message": 1,
        "sampling/createMessage": 1,
        "elicitation/create": 1,
    }
    failures = [f"{mark} heard {message}" for message in heard if mark not in _marks(message)]
    counts = {method: sum(message["method"] == method for message in heard) for method in wanted}
    if counts != wanted:
        failures.append(f"{mark} heard {counts}")
    if any(message["params"]["progressToken"] != token for message in heard if "progressToken" in message["params"]):
        failures.append(f"{mark} heard of another's progress")
    if "result" not in result or not _is_mine(json.loads(_text(result)), mark):
        failures.append(f"{mark} was answered {str(result)[:300]}")
    return failures


def _is_mine(said: Message, mark: str) -> bool:
    sampled, elicited = said["sampled"], said["elicited"]
    return sampled.get("content", {}).get("text") == f"re {mark}" and elicited.get("content") == {"mark": mark}


def _marks(message: Message) -> list[str]:
    params = message["params"]
    asked = [part["content"]["text"] for part in params.get("messages", [])]
    return [*asked, params.get("message"), params.get("data")]


@asynccontextmanager
async def _talker(door: str) -> AsyncGenerator[dict[str, Any]]:
    """The settings of a talkative server on stdio, or of one that listens on a port."""
    if door == "stdio":
        # Kept to sessions: in them such a server cannot say at which call it speaks.
        yield a_server("faults.talkative", protocol="2025-11-25")
        return
    command = [sys.executable, "-S", "-m", "tests.servers.faults.talkative_http"]
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        yield {"url": (await process.stdout.readline()).decode().strip()}
    finally:
        process.kill()
        await process.wait()
