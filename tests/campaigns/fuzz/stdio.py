"""Frames thrown at `limen stdio` through its own pipes."""

import asyncio
import json
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any

from tests.campaigns.fuzz.frames import HELLO, Frame, Frames
from tests.campaigns.fuzz.hub import ANSWER_S, Fault, Figures, judge, memory_mb
from tests.servers.everything.running import Hub

__all__ = ["fuzz_stdio"]

BATCH = 40
LINE_LIMIT = 64 * 1024 * 1024


class _Pipe:
    """A hub on pipes: everything it says is checked, and answers to valid requests are waited for."""

    def __init__(self, process: asyncio.subprocess.Process, figures: Figures) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._figures = figures
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def read(self) -> None:
        """Check every line the hub writes, to the end."""
        while line := await self._stdout.readline():
            message = json.loads(line)
            if message.get("jsonrpc") != "2.0":
                raise Fault(f"not a message on stdout: {line[:200]!r}")
            self._figures.replies += 1
            self._figures.errors += "error" in message
            waiting = self._waiting.pop(str(message.get("id")), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            elif "method" in message and "id" in message:
                # What the hub asks is answered, so that its calls do not wait for nothing.
                self._stdin.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode() + b"\n")
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Fault("the hub ended"))

    async def send(self, frames: list[Frame]) -> None:
        """Send some frames and wait for the answers to the valid ones."""
        waiting = [(frame, self._expect(frame)) for frame in frames if frame.expects]
        # Every frame is one line of its own, whatever it became.
        self._stdin.write(b"".join(frame.data.replace(b"\n", b" ") + b"\n" for frame in frames))
        async with asyncio.timeout(ANSWER_S):
            await self._stdin.drain()
            for frame, answer in waiting:
                message = await answer
                if not frame.is_answered_by(message):
                    raise Fault(f"valid request {frame.data!r} was answered with {message}")
                self._figures.answered += 1

    def _expect(self, frame: Frame) -> asyncio.Future[dict[str, Any]]:
        self._figures.valid += 1
        answer = self._waiting[frame.expects] = asyncio.get_running_loop().create_future()
        return answer

    async def close(self) -> int | None:
        """End its input, and see it end."""
        self._stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                return await self.process.wait()
        self.process.kill()
        return None


async def fuzz_stdio(hub: Hub, count: int, seed: int) -> Figures:
    """Throw so many frames at one `limen stdio`; the figures say how it bore them."""
    figures = Figures("stdio", seed)
    journal = hub.config.with_name("fuzz-stdio.log")
    began = monotonic()
    with journal.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *hub.stdio(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=dict(hub.env),
            limit=LINE_LIMIT,
        )
    pipe = _Pipe(process, figures)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(pipe.read())
            await _play(pipe, figures, count, seed)
            exit_code = await pipe.close()
    except* (Fault, TimeoutError, OSError, ValueError) as failures:
        figures.faults += [f"{type(error).__name__}: {error}" for error in failures.exceptions]
        if process.returncode is None:
            process.kill()
        exit_code = await process.wait()
    figures.seconds = round(monotonic() - began, 1)
    judge(figures, journal, exit_code)
    return figures


async def _play(pipe: _Pipe, figures: Figures, count: int, seed: int) -> None:
    hello = {"jsonrpc": "2.0", "id": "valid-hello", "method": "initialize", "params": HELLO}
    await pipe.send([Frame(json.dumps(hello).encode(), "valid-hello", key="serverInfo")])
    frames = iter(Frames(seed))
    while figures.frames < count:
        batch = list(islice(frames, min(BATCH, count - figures.frames)))
        await pipe.send(batch)
        figures.frames += len(batch)
        if not figures.mb_early and figures.frames >= count // 5:
            figures.mb_early = memory_mb(pipe.process.pid)
    last = {"jsonrpc": "2.0", "id": "valid-last", "method": "ping"}
    await pipe.send([Frame(json.dumps(last).encode(), "valid-last")])
    figures.mb_late = memory_mb(pipe.process.pid)
