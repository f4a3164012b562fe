"""One command-line program: its tools, found when first asked for and then kept, and the runs they stand for."""

import asyncio
import logging
import shlex
from collections.abc import Mapping
from typing import Any, Final

from limen.errors import InvalidArguments, LimenError, NotFound, RequestTimeout
from limen.transport.cli.answers import failure, result_of
from limen.transport.cli.argv import argv_of
from limen.transport.cli.discovery import HelpText, discover
from limen.transport.cli.execution import run_program
from limen.transport.cli.options import CliOptions
from limen.transport.cli.tools import Tool, make_tools
from limen.transport.process import ChildCommand

__all__ = ["Program"]

log = logging.getLogger(__name__)

HELP_S: Final = 10.0
HELP_BYTES: Final = 512 * 1024
STDERR_BYTES: Final = 64 * 1024

# What a program is told unless the settings say otherwise: there is no terminal here, and nobody turns pages.
_CALM: Final = {"PAGER": "cat", "MANPAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}
# Help is read by rules made for English, and is easier to read where nothing had to be wrapped.
_FOR_HELP: Final = {**_CALM, "COLUMNS": "160", "MANWIDTH": "160", "LC_ALL": "C.UTF-8", "LANGUAGE": "en"}


class Program:
    """Tools out of help texts. `group` owns the discovery, which goes on when whoever first asked is gone."""

    def __init__(self, options: CliOptions, group: asyncio.TaskGroup, text_bytes: int) -> None:
        self._options = options
        self._group = group
        self._text_bytes = text_bytes
        self._help_words = shlex.split(options.help)
        self._finding: asyncio.Task[dict[str, Tool] | LimenError] | None = None

    async def tools(self) -> dict[str, Tool]:
        """Every tool by its name, in the order of the help.

        Raises:
            LimenError: the program cannot be started or does not say what it can do; the next call tries again.
        """
        if self._finding is None:
            self._finding = self._group.create_task(self._find())
        finding = self._finding
        found = await asyncio.shield(finding)
        if isinstance(found, LimenError):
            if self._finding is finding:
                self._finding = None
            raise found
        return found

    def close(self) -> None:
        """Stop looking for tools."""
        if self._finding is not None:
            self._finding.cancel()

    async def _find(self) -> dict[str, Tool] | LimenError:
        """A failure is a value: the task group must outlive it."""
        options = self._options
        try:
            commands = await discover(self._ask, depth=options.depth, only=options.only)
        except LimenError as error:
            return error
        except Exception:
            log.exception("help cannot be read", extra={"program": options.command})
            return LimenError("internal error; the hub's log has the details")
        return {tool.name: tool for tool in make_tools(options.command, commands)}

    async def _ask(self, path: tuple[str, ...]) -> HelpText | None:
        command = self._command([*path, *self._help_words], _FOR_HELP)
        patience_s = min(HELP_S, self._options.timeout_s)
        finished = await run_program(command, timeout_s=patience_s, stdout_bytes=HELP_BYTES, stderr_bytes=HELP_BYTES)
        if finished.status is None:
            if not path:
                raise RequestTimeout(f"{self._options.command} printed no help within {patience_s:g} s")
            log.warning("no help in time", extra={"program": self._options.command, "command": " ".join(path)})
            return None
        told = finished.stdout.data if finished.stdout.data.strip() else finished.stderr.data
        return HelpText(told.decode(errors="replace"), is_success=finished.status == 0)

    def _command(self, words: list[str], calm: Mapping[str, str]) -> ChildCommand:
        options = self._options
        return ChildCommand([options.command, *options.args, *words], {**calm, **options.env}, options.cwd)

    async def call(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Run one command; what it says is the result, and a failure of it too.

        Raises:
            NotFound: there is no such tool.
            Unreachable: the program cannot be started.
        """
        tool = (await self.tools()).get(name)
        if tool is None:
            raise NotFound(f"no tool {name!r}", tool=name)
        try:
            words = argv_of(tool, arguments)
        except InvalidArguments as error:
            return failure(str(error))
        options = self._options
        finished = await run_program(
            self._command(words, _CALM),
            timeout_s=options.timeout_s,
            stdout_bytes=options.output_bytes,
            stderr_bytes=STDERR_BYTES,
        )
        return result_of(finished, timeout_s=options.timeout_s, most_bytes=self._text_bytes)
