"""Takes off what was put on for terminals: colours, overstrikes, frames around sections. Understands no word of it."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from limen.transport.cli.pattern import Pattern

__all__ = ["Line", "plain_lines"]

MOST_LINES: Final = 20_000
MOST_COLUMNS: Final = 2_000

_ANSI: Final = Pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[()][0-9A-Za-z]|\x1b[@-_]?")
_OVERSTRIKE: Final = Pattern(r"[^\n\x08]\x08")
_CONTROLS: Final = Pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_TOPS: Final = (("╭", "╮"), ("┌", "┐"), ("┏", "┓"), ("+-", "-+"))
_BOTTOMS: Final = (("╰", "╯"), ("└", "┘"), ("┗", "┛"))
_SIDES: Final = "│┃|"
_STAR: Final = Pattern(r"^( *)\*")


class Line(NamedTuple):
    """One line without its indentation, which is counted in columns; an empty text is a blank line."""

    indent: int
    text: str


def plain_lines(text: str) -> tuple[Line, ...]:
    """The lines of a help text as a dumb printer would show them; title bars of frames become headings."""
    text = _OVERSTRIKE.sub("", _ANSI.sub("", text.replace("\r\n", "\n")))
    return tuple(_measure(line) for line in _unframed(text.split("\n", MOST_LINES)[:MOST_LINES]))


def _unframed(lines: list[str]) -> Iterator[str]:
    is_inside = False
    for whole in lines:
        line = whole[:MOST_COLUMNS]
        bare = line.strip()
        title = _title(bare)
        if title is not None:
            # A bar of plus and minus without a title may be the top of a frame as well as its end.
            is_inside = bool(title) or not (is_inside and bare.startswith("+"))
            yield f"{title}:" if title else ""
        elif _is_between(bare, _BOTTOMS):
            is_inside = False
            yield ""
        elif is_inside and bare[:1] in _SIDES:
            # The star marks what is required; the words after it say so too.
            yield _STAR.sub(r"\1 ", bare[1:].rstrip(_SIDES))
        else:
            yield line


def _title(bare: str) -> str | None:
    """What stands in the top of a frame, None when this is none."""
    return bare[1:-1].strip("─━- ") if _is_between(bare, _TOPS) else None


def _is_between(bare: str, ends: Sequence[tuple[str, str]]) -> bool:
    return any(bare.startswith(left) and bare.endswith(right) and len(bare) > 3 for left, right in ends)


def _measure(line: str) -> Line:
    bare = line.lstrip(" \t")
    indent = len(line[: len(line) - len(bare)].expandtabs(8))
    # A tab inside a line separates columns, however few of them it spans.
    return Line(indent, _CONTROLS.sub("", bare.replace("\t", "   ")).rstrip())
