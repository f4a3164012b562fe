"""Many files into one list: each server once, every name once, and nothing that is there already replaced."""

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import Literal

from msgspec import Struct

from limen.config.foreign.records import Found, Reading

__all__ = ["Choice", "Standing", "merge"]

Standing = Literal["new", "exists", "same"]
"""To be added; left alone because the name is taken; left out because another file has the very same."""


class Choice(Struct, frozen=True):
    """One server, the file it comes from, and what becomes of it under which name."""

    name: str
    found: Found
    reading: Reading
    standing: Standing


def merge(readings: Iterable[Reading], taken: Collection[str]) -> list[Choice]:
    """What to add beside the names that are taken; different servers of one name are numbered."""
    chosen: dict[str, Mapping[str, object]] = {}
    choices: list[Choice] = []
    for reading in readings:
        for found in reading.servers:
            name = _free_name(found, chosen)
            standing: Standing = "same" if name in chosen else "exists" if name in taken else "new"
            chosen.setdefault(name, found.entry)
            choices.append(Choice(name, found, reading, standing))
    return choices


def _free_name(found: Found, chosen: Mapping[str, Mapping[str, object]]) -> str:
    """The server's own name, or the first `name-2`, `name-3`, … that no other server has."""
    if chosen.get(found.name, found.entry) == found.entry:
        return found.name
    stem = found.name[:44].rstrip("-_")
    names = (f"{stem}-{number}" for number in count(2))
    return next(name for name in names if chosen.get(name, found.entry) == found.entry)
