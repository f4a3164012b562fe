"""The way to a hub's brains for its toolsets: what makes a brain work is loaded by the first call that needs one.

Loading it takes longer than all else a start does, and `limen stdio` must answer its client at once.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from limen.brain.rules import BrainRules

if TYPE_CHECKING:
    # The one import of our own that is put off; to import it here would be to load it.
    from limen.brain.brains import Brains

__all__ = ["BrainAccess", "open_access"]


class BrainAccess:
    """Gives the brains to whoever asks, and opens them for the first one who does."""

    def __init__(self, folder: Path, rules: BrainRules, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._rules = rules
        self._stack = stack
        self._opening = asyncio.Lock()
        self._brains: Brains | None = None

    async def get(self) -> "Brains":
        """The brains.

        Raises:
            ConfigInvalid: a rule cannot be followed.
        """
        if self._brains is None:
            async with self._opening:
                if self._brains is None:
                    from limen.brain.brains import open_brains  # noqa: PLC0415 - see above

                    self._brains = await self._stack.enter_async_context(open_brains(self._folder, self._rules))
        return self._brains


@asynccontextmanager
async def open_access(folder: Path, rules: BrainRules) -> AsyncGenerator[BrainAccess, None]:
    """Access to the brains beneath a folder, which are closed with it."""
    async with AsyncExitStack() as stack:
        yield BrainAccess(folder, rules, stack)
