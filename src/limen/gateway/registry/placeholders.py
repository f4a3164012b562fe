"""Texts that a stranger wrote, made fit for the settings: no variable is filled in but those that we name."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from limen.errors import InvalidArguments
from limen.gateway.registry.records import Input

__all__ = ["Draft", "Needed", "literal", "variable_name"]

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SLOT: Final = re.compile(r"\{([A-Za-z0-9_. -]+)\}")


class Needed(Struct, frozen=True):
    """A variable that must be set before the server can be used."""

    name: str
    description: str = ""
    is_secret: bool = False


class Draft(Struct):
    """A server's entry for the settings, what it needs, and what a person should know about it first."""

    entry: dict[str, Any] = field(default_factory=dict[str, Any])
    needs: list[Needed] = field(default_factory=list[Needed])
    notes: list[str] = field(default_factory=list[str])

    def fill(self, name: str, given: Input, prefix: str) -> str | None:
        """The value of an input: fixed, its default, or a variable when it is required; None when it is left out."""
        if given.value is not None:
            return self._template(given.value, given.variables, prefix)
        if given.default is not None:
            return literal(_plain(given.default))
        return self.need(variable_name(prefix, name), given) if given.is_required else None

    def need(self, name: str, given: Input) -> str:
        """The placeholder of a variable that is needed."""
        if not any(needed.name == name for needed in self.needs):
            self.needs.append(Needed(name, given.description, given.is_secret))
        return f"${{{name}}}"

    def _template(self, text: str, variables: Mapping[str, Input], prefix: str) -> str:
        parts: list[str] = []
        at = 0
        for found in _SLOT.finditer(text):
            given = variables.get(found[1])
            if given is None:
                continue
            filled = self.fill(found[1], given, prefix)
            parts += [literal(text[at : found.start()]), filled or ""]
            at = found.end()
        return "".join([*parts, literal(text[at:])])


def literal(text: str) -> str:
    """A text that means itself: a variable of ours that it names is not filled in."""
    if "\0" in text or "\n" in text or "\r" in text:
        raise InvalidArguments("a value of this server holds a line break, which no argument needs")
    return text.replace("${", "$${")


def variable_name(prefix: str, name: str) -> str:
    """The variable that stands for a value; an environment variable keeps its own name, with an empty prefix."""
    if not prefix:
        if not _VARIABLE.fullmatch(name):
            raise InvalidArguments(f"{name!r} cannot be the name of a variable")
        return name
    words = re.sub(r"[^A-Za-z0-9]+", "_", f"{prefix}_{name}").strip("_").upper()
    return words if words[:1].isalpha() else f"MCP_{words}"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
