"""A command-line program as a channel: whoever holds it speaks MCP, and every call is a run of the program."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Final

from limen.protocol.frames import DEFAULT_LIMITS, FrameLimits
from limen.transport.channel import Channel
from limen.transport.cli.options import CliOptions
from limen.transport.cli.program import Program
from limen.transport.cli.server import CliService
from limen.transport.dispatcher import Dispatcher
from limen.transport.memory import memory_pair

__all__ = ["CliOptions", "open_cli"]

PAGE_BYTES: Final = 1024 * 1024
"""The most one page of tools is meant to be."""
ENVELOPE_BYTES: Final = 4096


@asynccontextmanager
async def open_cli(options: CliOptions, limits: FrameLimits = DEFAULT_LIMITS) -> AsyncGenerator[Channel]:
    """Serve a program. Nothing is started before its tools are asked for; at the end every run of it is over."""
    ours, theirs = memory_pair()
    body_error: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        program = Program(options, group, _text_bytes(limits))
        service = CliService(program, PurePath(options.command).stem, min(PAGE_BYTES, limits.frame_bytes // 2))
        serving = group.create_task(Dispatcher(service, theirs.send, limits).serve(theirs))
        try:
            yield ours
        except BaseException as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            body_error = error
        finally:
            await ours.aclose()
            serving.cancel()
            program.close()
    if body_error is not None:
        raise body_error


def _text_bytes(limits: FrameLimits) -> int:
    """The most one of the two texts of a result may be, so that both and what surrounds them are one frame."""
    return max(256, min(limits.string_bytes, (limits.frame_bytes - ENVELOPE_BYTES) // 2))
