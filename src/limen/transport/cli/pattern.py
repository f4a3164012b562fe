"""Regular expressions compiled when first used: all of them at once would be felt at every start of the hub."""

import re
from functools import cached_property

__all__ = ["Pattern"]


class Pattern:
    """A regular expression, with as much of its interface as is used here."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text)

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """Whether it fits from there on."""
        return self._compiled.match(text, at)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Whether it fits the whole text."""
        return self._compiled.fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Where it fits first."""
        return self._compiled.search(text)

    def findall(self, text: str) -> list[str]:
        """Every place it fits, as the text of its group."""
        return self._compiled.findall(text)

    def sub(self, by: str, text: str) -> str:
        """The text with every place replaced."""
        return self._compiled.sub(by, text)

    def split(self, text: str, most: int = 0) -> list[str]:
        """The pieces between the places it fits."""
        return self._compiled.split(text, maxsplit=most)
