"""The one place that writes to the screen: data to stdout, words for people to stderr, JSON where no person looks."""

import json
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

from limen.cli.printable import printable
from limen.errors import LimenError, face_of
from limen.redact import redact_text, redact_value
from limen.shapes import is_array, is_object

__all__ = ["Column", "Output"]

Tone = Literal["ok", "warn", "fail", "quiet", "strong"]

WIDE = 110
"""From so many columns on, a terminal shows the extra ones of a table."""

_ANSI: Mapping[Tone, str] = {"ok": "32", "warn": "33", "fail": "1;31", "quiet": "2", "strong": "1"}
_RICH: Mapping[Tone, str] = {"ok": "green", "warn": "yellow", "fail": "bold red", "quiet": "dim", "strong": "bold"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: what of each row it shows, and how."""

    title: str
    key: str
    align: Literal["left", "right"] = "left"
    width: int | None = None
    """Exactly so wide; without it, as wide as its content, or what is left."""
    wraps: bool = False
    """Goes on in the next line when it is too long, instead of being cut."""
    is_extra: bool = False
    """Left out when the terminal is narrow."""
    tones: Mapping[str, Tone] = field(default_factory=dict[str, Tone])
    """The tone of a cell, by its text."""
    tone: Tone | None = None


class Output:
    """Where a command's results and remarks go; whether JSON and colours are wanted is settled here, once."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        as_json: bool = False,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._environment = environment
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._as_json = as_json

    @property
    def is_json(self) -> bool:
        """Whether results are for a program: asked for, or because stdout is no terminal."""
        return self._as_json or not self._stdout.isatty()

    def data(self, value: object) -> None:
        """One JSON value on one line of stdout, at once, so that whoever reads along sees it."""
        self._write(self._stdout, json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def text(self, line: str) -> None:
        """One line of plain text on stdout: a path, a version."""
        self._write(self._stdout, line)

    def table(self, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], *, with_header: bool = True) -> None:
        """Rows as a table; each cell is made printable."""
        # Rich takes 60 ms to import, so only whoever looks at a table pays for it.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        colors = "auto" if self._has_color(self._stdout) else None
        console = Console(file=self._stdout, color_system=colors, highlight=False, markup=False, emoji=False)
        shown = [column for column in columns if console.width >= WIDE or not column.is_extra]
        table = Table(box=None, pad_edge=False, show_header=with_header, header_style="bold", padding=(0, 2, 0, 0))
        for column in shown:
            overflow = "fold" if column.wraps else "ellipsis"
            table.add_column(
                column.title, justify=column.align, width=column.width, no_wrap=not column.wraps, overflow=overflow
            )
        for row in rows:
            table.add_row(*[Text(*_cell(column, row)) for column in shown])
        console.print(table)

    def say(self, line: str = "") -> None:
        """One line for the person who waits, on stderr."""
        self._write(self._stderr, line)

    def paint(self, text: str, tone: Tone) -> str:
        """The text in colour, where stderr shows colours."""
        return f"\x1b[{_ANSI[tone]}m{text}\x1b[0m" if self._has_color(self._stderr) else text

    def fail(self, error: LimenError) -> int:
        """Tell a failure: for people one line and the fix, with --json one line of JSON. Returns the exit code."""
        message = redact_text(str(error))
        fix = error.facts.get("fix")
        if self._as_json:
            facts = redact_value({key: _plain(value) for key, value in error.facts.items()})
            told = {"code": error.code, "message": message, "retryable": error.retryable, "facts": facts}
            self._write(self._stderr, json.dumps({"error": told}, ensure_ascii=False, separators=(",", ":")))
        else:
            lines = [printable(line) for line in message.splitlines()]
            self.say(f"{self.paint('error:', 'fail')} " + "\n".join(lines))
            if isinstance(fix, str):
                self.say(f"{self.paint('fix:', 'ok')} {printable(fix)}")
        return face_of(error).exit

    def crash(self, error: BaseException, *, with_traceback: bool) -> int:
        """Tell a failure nobody foresaw. Returns the exit code."""
        if with_traceback:
            self.say("".join(traceback.format_exception(error)).rstrip())
        fix = "run it again with LIMEN_LOG_LEVEL=debug to see where, and report it"
        return self.fail(LimenError(f"{type(error).__name__}: {error}", fix=fix))

    def _has_color(self, stream: TextIO) -> bool:
        if self._environment.get("NO_COLOR"):
            return False
        if self._environment.get("FORCE_COLOR"):
            return True
        return stream.isatty() and self._environment.get("TERM") != "dumb"

    def _write(self, stream: TextIO, line: str) -> None:
        # Text may hold lone surrogates (file names, escaped JSON); losing the line to them would be worse.
        encoding = stream.encoding or "utf-8"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()


def _cell(column: Column, row: Mapping[str, Any]) -> tuple[str, str]:
    value = row.get(column.key)
    text = "" if value is None else printable(str(value))
    tone = column.tones.get(text) or column.tone
    return text, _RICH[tone] if tone else ""


def _plain(value: object) -> object:
    """A fact as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_object(value):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if is_array(value) else str(value)
