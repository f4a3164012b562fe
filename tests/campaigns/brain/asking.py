"""A process that searches a brain through the public door, and how the campaign talks to it.

`python -m tests.campaigns.brain.asking FOLDER` reads an `Order` a line and answers each with a `Reply`. What is damaged
beneath it is damaged by another process: to close a file that SQLite uses would drop the locks of its own.
"""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from limen.brain.brains import open_brains
from limen.brain.openbrain import OpenBrain
from limen.brain.retrieval.answers import Hit, SearchRequest
from limen.brain.rules import BrainRules
from limen.errors import LimenError
from tests.environment import ROOT

__all__ = ["SLUG", "Asker", "Reply"]

SLUG = "campaign"
PATIENCE_S = 120.0


class Order(Struct, frozen=True):
    """What the process is to do."""

    do: Literal["open", "close", "ask", "reindex"]
    questions: Sequence[SearchRequest] = ()


class Reply(Struct, frozen=True):
    """The hits of each question, or the code of the error and what it says."""

    answers: Sequence[Sequence[Hit]] = ()
    code: str = ""
    message: str = ""


class Asker:
    """One such process, seen from the campaign."""

    def __init__(self, folder: Path, log: Path) -> None:
        command = [sys.executable, "-m", "tests.campaigns.brain.asking", str(folder)]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self.is_open = False

    def open(self) -> Reply:
        """Open the brain."""
        self.is_open = True
        return self._tell(Order("open"))

    def close(self) -> Reply:
        """Let go of the brain; the process stays."""
        self.is_open = False
        return self._tell(Order("close"))

    def ask(self, questions: Sequence[SearchRequest]) -> Reply:
        """Search the brain."""
        return self._tell(Order("ask", questions))

    def reindex(self) -> Reply:
        """Make the index anew, as `limen brain reindex` does."""
        return self._tell(Order("reindex"))

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def _tell(self, order: Order) -> Reply:
        told, heard = self._process.stdin, self._process.stdout
        assert told is not None
        assert heard is not None
        try:
            told.write(msgspec.json.encode(order) + b"\n")
            told.flush()
        except BrokenPipeError:
            return Reply(code="died", message="it ended by itself")
        if not select.select([heard], [], [], PATIENCE_S)[0]:
            return Reply(code="hangs", message=f"no answer in {PATIENCE_S} s")
        line = heard.readline()
        return msgspec.json.decode(line, type=Reply) if line else Reply(code="died", message="it ended by itself")


async def serve(folder: Path) -> None:
    """Do what each line of stdin says, until it ends."""
    # Whatever a library prints goes elsewhere: stdout is the wire.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    stack = AsyncExitStack()
    brain: OpenBrain | None = None
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        reply = Reply()
        try:
            if order.do == "close":
                brain = None
                await stack.aclose()
            elif brain is None:
                brain = await (await stack.enter_async_context(open_brains(folder, BrainRules()))).open(SLUG)
            if brain is not None:
                reply = await _answer(brain, order)
        except LimenError as error:
            reply = Reply(code=error.code, message=str(error))
        out.write(msgspec.json.encode(reply) + b"\n")
        out.flush()


async def _answer(brain: OpenBrain, order: Order) -> Reply:
    if order.do == "reindex":
        await brain.run(brain.follower.rebuild)
    return Reply([(await brain.search(question)).hits for question in order.questions])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
