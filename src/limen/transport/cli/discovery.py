"""Walks a program's subcommands by asking for their help, level by level. Bounded in depth, number and time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from limen.clock import monotonic
from limen.transport.cli.helptext import NO_HELP, Help, read_help
from limen.transport.cli.listing import Subcommand
from limen.transport.cli.tools import Command

__all__ = ["Ask", "HelpText", "discover"]

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
MOST_COMMANDS: Final = 500
MOST_DEPTH: Final = 5
DISCOVERY_S: Final = 90.0
"""After so long no more help is asked for; commands not reached by then become tools without typed options."""


class HelpText(Struct, frozen=True):
    """What a program printed when it was asked for help."""

    text: str
    is_success: bool = True
    """Whether it ended with status 0."""


Ask = Callable[[tuple[str, ...]], Awaitable[HelpText | None]]
"""The help of one command; None when there is none to be had."""


class _Node(Struct):
    path: tuple[str, ...]
    about: str = ""
    is_guess: bool = False
    """Named in the settings, not in the help."""
    parent: "_Node | None" = None
    text: str = ""
    help: Help = NO_HELP
    children: "list[_Node]" = []
    is_absent: bool = False


async def discover(ask: Ask, *, depth: int, only: Sequence[str] = ()) -> tuple[Command, ...]:
    """Every command that becomes a tool, parents before children, in the order of the help.

    Raises:
        LimenError: the program's own help cannot be had; whatever `ask` raises for the empty path.
    """
    walk = _Walk(ask, min(depth, MOST_DEPTH), [tuple(name.split()) for name in only if name.split()])
    root = _Node(())
    answer = await ask(())
    if answer is not None:
        await walk.take(root, answer)
    level = [root]
    while level:
        level = walk.next_level(level)
        await walk.read(level)
    return tuple(walk.commands(root))


class _Walk:
    def __init__(self, ask: Ask, depth: int, only: Sequence[tuple[str, ...]]) -> None:
        self._ask = ask
        self._depth = depth
        self._only = only
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._deadline = monotonic() + DISCOVERY_S
        self._count = 0

    def next_level(self, level: Sequence[_Node]) -> list[_Node]:
        """Give each command its subcommands, as far as there may be more."""
        for node in level:
            wanted = self._wanted(node) if len(node.path) < self._depth else []
            room = MOST_COMMANDS - self._count
            if len(wanted) > room:
                log.warning("program has more commands than become tools", extra={"most": MOST_COMMANDS})
            node.children = wanted[:room]
            self._count += len(node.children)
        return [child for node in level for child in node.children]

    def _wanted(self, node: _Node) -> list[_Node]:
        listed = [it for it in node.help.subcommands if self._is_allowed((*node.path, it.name))]
        known = {it.name for it in listed}
        guessed = dict.fromkeys(
            path[len(node.path)]
            for path in self._only
            if len(path) > len(node.path) and path[: len(node.path)] == node.path and path[len(node.path)] not in known
        )
        found = [_Node((*node.path, it.name), it.description, parent=node) for it in listed]
        return found + [_Node((*node.path, name), is_guess=True, parent=node) for name in guessed]

    def _is_allowed(self, path: tuple[str, ...]) -> bool:
        if not self._only:
            return True
        # A name in the list brings everything below it, and the way down to it.
        return any(path[: len(wanted)] == wanted or wanted[: len(path)] == path for wanted in self._only)

    async def read(self, level: Sequence[_Node]) -> None:
        """Ask for the help of a whole level, some at a time."""
        async with asyncio.TaskGroup() as group:
            for node in level:
                group.create_task(self._read_one(node))

    async def _read_one(self, node: _Node) -> None:
        inherited = node.parent.help.knows_dashes if node.parent is not None else False
        node.help = Help(knows_dashes=inherited)
        if len(node.path) >= self._depth and not node.is_guess:
            return
        async with self._gate:
            if monotonic() > self._deadline:
                log.warning("help not asked for, discovery takes too long", extra={"command": " ".join(node.path)})
                return
            answer = await self._ask(node.path)
        if node.is_guess and (answer is None or _is_refusal(answer, node)):
            log.warning("command not known to the program", extra={"command": " ".join(node.path)})
            node.is_absent = True
        elif answer is not None:
            await self.take(node, answer)

    async def take(self, node: _Node, answer: HelpText) -> None:
        """Read a help text, unless it is one that was seen on the way down."""
        if any(answer.text == above.text for above in _ancestors(node)):
            return
        node.text = answer.text
        # A manual of thousands of lines takes long enough to be felt by others.
        found = await asyncio.to_thread(read_help, answer.text, node.path)
        names = _names(found.subcommands)
        if names and any(names == _names(above.help.subcommands) for above in _ancestors(node)):
            # It lists its parent's subcommands, not its own: going on would never end.
            found = replace(found, subcommands=())
        inherited = node.parent is not None and node.parent.help.knows_dashes
        node.help = replace(found, knows_dashes=found.knows_dashes or (inherited and not found.flags))

    def commands(self, node: _Node) -> list[Command]:
        """A command that only groups others is no tool; one that also does something by itself is."""
        below = [it for child in node.children if not child.is_absent for it in self.commands(child)]
        is_between = bool(below) and not node.help.runs_alone
        # One that is merely on the way to what was asked for would let in everything beside it.
        is_wanted = not self._only or any(node.path[: len(wanted)] == wanted for wanted in self._only)
        return below if is_between or not is_wanted else [Command(node.path, node.about, node.help), *below]


def _is_refusal(answer: HelpText, node: _Node) -> bool:
    if any(answer.text == above.text for above in _ancestors(node)):
        return True
    return not answer.is_success and "usage" not in answer.text.lower()


def _ancestors(node: _Node) -> list[_Node]:
    found: list[_Node] = []
    above = node.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def _names(subcommands: Sequence[Subcommand]) -> frozenset[str]:
    return frozenset(it.name for it in subcommands)
