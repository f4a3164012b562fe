"""What reading another program's file gives: entries that fit Limen, and what could not be brought along."""

from collections.abc import Mapping

from msgspec import Struct

__all__ = ["Found", "LeftOut", "Reading"]


class Found(Struct, frozen=True):
    """One server; `entry` is ready to stand under its name in `servers:`."""

    name: str
    entry: Mapping[str, object]
    notes: tuple[str, ...] = ()
    """What was changed or could not be brought along, each a sentence for the owner."""

    @property
    def kind(self) -> str:
        """How it is reached."""
        if self.entry.get("cli"):
            return "cli"
        return "http" if "url" in self.entry else "stdio"


class LeftOut(Struct, frozen=True):
    """One server that was not taken, and why."""

    name: str
    reason: str
    is_limen: bool = False


class Reading(Struct, frozen=True):
    """What one file holds."""

    file: str
    format: str
    servers: tuple[Found, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
