"""The commands of clients that can add and remove servers themselves; whoever runs one looks at the file after."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from limen.config.foreign.places import NAME, Place, Scope
from limen.errors import RequestTimeout, TooLarge, Unreachable
from limen.transport.errand import run_child
from limen.transport.process import ChildCommand

__all__ = ["Program", "find_program"]

DEADLINE_S: Final = 60.0
MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Grammar:
    """How a client's command is spoken to; `{scope}` and the words that start Limen are filled in."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    scopes: frozenset[Scope]


_GRAMMARS: Final[Mapping[str, _Grammar]] = {
    "claude": _Grammar(
        add=("mcp", "add", "--scope", "{scope}", NAME, "--"),
        remove=("mcp", "remove", "--scope", "{scope}", NAME),
        scopes=frozenset({"user", "project"}),
    ),
    "codex": _Grammar(add=("mcp", "add", NAME, "--"), remove=("mcp", "remove", NAME), scopes=frozenset({"user"})),
    "gemini": _Grammar(
        add=("mcp", "add", "--scope", "{scope}", NAME),
        remove=("mcp", "remove", "--scope", "{scope}", NAME),
        scopes=frozenset({"user", "project"}),
    ),
}


@dataclass(frozen=True, slots=True)
class Program:
    """A client's command that is installed here."""

    path: str
    place: Place
    environment: Mapping[str, str]

    def adding(self, words: Sequence[str]) -> list[str]:
        """The command line that adds Limen, started by these words."""
        return [*self._words(self._grammar.add), *words]

    def removing(self) -> list[str]:
        """The command line that removes Limen."""
        return self._words(self._grammar.remove)

    def run(self, command: Sequence[str]) -> str | None:
        """Run one of these; what went wrong, or None."""
        cwd = self.place.project or Path.cwd()
        child = ChildCommand([self.path, *command[1:]], self.environment, cwd)
        said: list[bytes] = []
        try:
            ended = run_child(child, b"", deadline_s=DEADLINE_S, most_bytes=MOST_BYTES, on_line=said.append)
        except (Unreachable, RequestTimeout, TooLarge) as error:
            return str(error)
        if ended.status == 0:
            return None
        lines = ended.stderr.strip().splitlines() or [line.decode(errors="replace") for line in said]
        return lines[-1] if lines else f"it ended with {ended.status}"

    @property
    def _grammar(self) -> _Grammar:
        return _GRAMMARS[self.place.client.program or ""]

    def _words(self, pattern: Sequence[str]) -> list[str]:
        name = self.place.client.program or ""
        return [name, *(word.replace("{scope}", self.place.scope) for word in pattern)]


def find_program(place: Place, environment: Mapping[str, str]) -> Program | None:
    """The client's own command, when it is on the PATH and can change this place."""
    name = place.client.program
    if name is None or place.scope not in _GRAMMARS[name].scopes:
        return None
    path = shutil.which(name, path=environment.get("PATH"))
    return Program(path, place, environment) if path else None
