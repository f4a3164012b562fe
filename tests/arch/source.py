"""The source tree as the architecture tests see it: modules, their syntax trees and what they import."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.environment import ROOT

SRC = ROOT / "src" / "limen"


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Where it is, from the package on: `server/http.py`."""
        return self.path.relative_to(SRC).as_posix()

    @property
    def part(self) -> str:
        """The part of the house it belongs to: `server`, `errors`."""
        return self.path.relative_to(SRC).parts[0].removesuffix(".py")

    def imports(self) -> Iterator[str]:
        """Every dotted name it imports, wherever in the file."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, in the order of their names."""
    return tuple(
        Module(path, text, ast.parse(text, filename=str(path)))
        for path in sorted(SRC.rglob("*.py"))
        for text in [path.read_text("utf-8")]
    )
