"""Lines that a person types, without holding up anything else; Ctrl-C ends the wait at once."""

import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from limen.cli.output import Output

__all__ = ["Keyboard"]

_MOST = 1 << 16


class Keyboard:
    """Whoever sits at the terminal. Not read in a thread: one that waits for a line could not be stopped."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._rest = b""

    @property
    def is_there(self) -> bool:
        """Whether somebody can be asked: stdin is theirs, and they see the question."""
        return sys.platform != "win32" and sys.stdin.isatty() and self._output.is_watched

    async def ask(self, question: str, *, is_secret: bool = False) -> str | None:
        """What is typed, unseen when it is a secret; None when they close their end (Ctrl-D)."""
        self._output.say(question)
        with _unseen(sys.stdin.fileno()) if is_secret else nullcontext():
            return await self._line()

    async def _line(self) -> str | None:
        while b"\n" not in self._rest:
            data = await self._read()
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def confirm(self, question: str, *, default: bool = False) -> bool:
        """Whether the answer is yes; Enter alone is the default, and so no answer at all is a no."""
        said = await self.ask(f"{question} [{'Y/n' if default else 'y/N'}]")
        if said is None:
            return False
        return default if not said else said.casefold() in {"y", "yes"}

    async def _read(self) -> bytes:
        loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(stdin, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(stdin)
        return os.read(stdin, _MOST)


@contextmanager
def _unseen(terminal: int) -> Generator[None]:
    """Let nothing that is typed be shown."""
    import termios  # noqa: PLC0415 - not on every system

    before = termios.tcgetattr(terminal)
    hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSAFLUSH, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
