"""What can be wrong with settings: one problem with its place and its fix, and the nearest word to a misspelt one."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, structs

__all__ = ["Problem", "Severity", "suggest"]

Severity = Literal["error", "warning"]


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, where it is, and how to mend it.

    `file` is the settings file, or `$NAME` for an environment variable. `server` is set when the problem lies
    in one server's entry: an error there disables that server and nothing else.
    """

    severity: Severity
    message: str
    fix: str
    path: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    server: str | None = None

    @property
    def is_fatal(self) -> bool:
        """Whether Limen cannot start with it."""
        return self.severity == "error" and self.server is None

    @property
    def where(self) -> str:
        """`limen.yaml:3:9`, as far as it is known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON output and for the facts of an error."""
        return structs.asdict(self)

    def __str__(self) -> str:
        """One line for people, in the form editors and terminals make clickable."""
        head = f"{self.where}: " if self.where else ""
        return f"{head}{self.severity}: {self.message}; {self.fix}"


def suggest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    # Imported here: 9 ms that only a misspelt file has to pay.
    from difflib import get_close_matches  # noqa: PLC0415

    by_folded = {name.casefold(): name for name in known}
    # A name of thousands of characters is nobody's typo, and costs time to compare.
    near = get_close_matches(word.casefold()[:64], by_folded, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None
