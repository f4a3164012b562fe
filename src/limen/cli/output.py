"""The one place that writes to the screen: data to stdout, words for people to stderr, JSON where no person looks."""

import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Literal, Protocol, TextIO

from limen.cli.printable import printable
from limen.errors import LimenError, face_of
from limen.redact import redact_text, redact_value
from limen.shapes import is_array, is_object

__all__ = ["Drawn", "Output", "Tone"]

Tone = Literal["ok", "warn", "fail", "quiet", "strong"]

DEFAULT_WIDTH = 80
READER_GONE = 141
"""What a shell makes of SIGPIPE."""

_LIST = "\n  "
_ANSI: Mapping[Tone, str] = {"ok": "32", "warn": "33", "fail": "1;31", "quiet": "2", "strong": "1"}


class Drawn(Protocol):
    """Something to look at that fits the width it is given."""

    def draw(self, width: int, *, is_colored: bool) -> str:
        """The text to show, without a last line break."""
        ...


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
        self._is_ticking = False

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees what goes to stderr while it happens."""
        return self._stderr.isatty()

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

    def show(self, drawn: Drawn) -> None:
        """Something for the person at the terminal, as wide as that is."""
        self._write(self._stdout, drawn.draw(self._width(), is_colored=self._has_color(self._stdout)))

    def say(self, line: str = "") -> None:
        """One line for the person who waits, on stderr."""
        self._write(self._stderr, line)

    def tick(self, text: str) -> None:
        """How far it is, in a line that the next word replaces; for whoever watches stderr only."""
        if self.is_watched:
            self._stderr.write(f"\r\x1b[K{printable(text)[: self._width() - 1]}")
            self._stderr.flush()
            self._is_ticking = True

    def untick(self) -> None:
        """Take that line away."""
        if self._is_ticking:
            self._is_ticking = False
            self._stderr.write("\r\x1b[K")
            self._stderr.flush()

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
            # A list stays one below the other; a line break that came with somebody's text does not.
            self.say(f"{self.paint('error:', 'fail')} " + _LIST.join(printable(item) for item in message.split(_LIST)))
            if isinstance(fix, str):
                self.say(f"{self.paint('fix:', 'ok')} {printable(fix)}")
        return face_of(error).exit

    def crash(self, error: BaseException, *, with_traceback: bool) -> int:
        """Tell a failure nobody foresaw. Returns the exit code."""
        if with_traceback:
            for line in "".join(traceback.format_exception(error)).splitlines():
                self.say(printable(redact_text(line)))
        fix = "run it again with LIMEN_LOG_LEVEL=debug to see where, and report it"
        return self.fail(LimenError(f"{type(error).__name__}: {error}", fix=fix))

    def _has_color(self, stream: TextIO) -> bool:
        if self._environment.get("NO_COLOR"):
            return False
        if self._environment.get("FORCE_COLOR"):
            return True
        return stream.isatty() and self._environment.get("TERM") != "dumb"

    def _width(self) -> int:
        columns = self._environment.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        try:
            return os.get_terminal_size(self._stdout.fileno()).columns or DEFAULT_WIDTH
        except OSError:
            return DEFAULT_WIDTH

    def _write(self, stream: TextIO, line: str) -> None:
        self.untick()
        # Text may hold lone surrogates (file names, escaped JSON); losing the line to them would be worse.
        encoding = stream.encoding or "utf-8"
        try:
            stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            stream.flush()
        except BrokenPipeError:
            # Python would complain once more when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            # Whoever reads the data has seen enough (`| head`); remarks that nobody hears are no reason to stop.
            if stream is self._stdout:
                raise SystemExit(READER_GONE) from None


def _plain(value: object) -> object:
    """A fact as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_object(value):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if is_array(value) else str(value)
