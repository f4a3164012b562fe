"""What a document says of itself: frontmatter, title, tags, date, kind. Never fails: what is broken is content.

Frontmatter is read event by event, so that tags, anchors and depth are refused before anything is built of them.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from limen.brain.days import find_date, find_path_date, read_date

if TYPE_CHECKING:
    import yaml

__all__ = [
    "DATE_FIELDS",
    "MOST_TITLE_CHARS",
    "Frontmatter",
    "date_of",
    "kind_of",
    "read_frontmatter",
    "tags_in",
    "title_of",
]

MOST_FRONTMATTER_CHARS: Final = 65_536
MOST_TITLE_CHARS: Final = 512
DATE_FIELDS: Final = ("date", "created", "observed_on", "session_date")
"""Where a document says which day it is about, the first that holds one."""

_MOST_DEPTH: Final = 32
_MOST_NODES: Final = 10_000
_MOST_TAGS: Final = 64
_MOST_TAG_CHARS: Final = 64
_TITLE_WITHIN: Final = 20_000
_DATE_WITHIN: Final = 600

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_HEADING = re.compile(
    r"(?:^|(?<=\ufeff)) {0,3}(?:(?P<fence>```|~~~)|#{1,6}[ \t]+(?P<atx>[^\n]+)|(?P<setext>={2,})[ \t]*\r?$)",
    re.MULTILINE,
)
_DATE_LINE = re.compile(
    r"^[>*_\- \t]{0,6}(?:\w{1,20} )?date(?: and time)?[*_]{0,2}:[*_]{0,2}[ \t]*([^\n]{4,80})",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})(?P<part>\.\d{1,30})?(?P<power>[eE][-+]?\d{1,3})?")
_WORDS: Final[Mapping[str, bool | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null", "timestamp"))
_Value = dict[str, object] | list[object] | str | float | bool | None
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_HOLDER_TAGS = frozenset({"!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


class Frontmatter(Struct, frozen=True):
    """The head of a document; `values` are plain JSON values."""

    values: Mapping[str, object] = {}
    body: int = 0
    """Where the content behind it begins."""
    warning: str = ""
    """Why something that looks like frontmatter was taken for content."""


class _Broken(ValueError):
    """The block is no frontmatter; the message becomes the warning."""


def read_frontmatter(text: str) -> Frontmatter:
    """The YAML mapping between `---` lines at the very beginning of a text, if there is one."""
    start = 1 if text.startswith("\ufeff") else 0
    opening = _OPENING.match(text, start)
    if opening is None:
        return Frontmatter(body=start)
    closing = _CLOSING.search(text, opening.end(), opening.end() + MOST_FRONTMATTER_CHARS)
    if closing is None:
        is_long = len(text) > opening.end() + MOST_FRONTMATTER_CHARS
        return Frontmatter(body=start, warning="frontmatter does not end within 65,536 characters" if is_long else "")
    try:
        values = _parse(text[opening.end() : closing.start()])
    except _Broken as broken:
        return Frontmatter(body=start, warning=f"frontmatter was taken for content: {broken}")
    return Frontmatter(values=values, body=closing.end())


def title_of(frontmatter: Frontmatter, text: str) -> str | None:
    """The title its frontmatter gives, else its first heading."""
    given = frontmatter.values.get("title")
    if isinstance(given, str | int | float) and (title := _line(str(given))):
        return title
    is_code = False
    for match in _HEADING.finditer(text, frontmatter.body, frontmatter.body + _TITLE_WITHIN):
        if match["fence"]:
            is_code = not is_code
        elif not is_code:
            written = match["atx"] or _line_before(text, match.start(), frontmatter.body)
            if title := _line(written.rstrip().rstrip("#")):
                return title
    return None


def tags_in(value: object) -> Sequence[str]:
    """Tags out of a list or a comma-separated text, each once, in their order."""
    items = value.split(",") if isinstance(value, str) else _items(value)
    names = (str(item).strip().removeprefix("#").strip()[:_MOST_TAG_CHARS] for item in items if _is_scalar(item))
    return list(dict.fromkeys(name for name in names if name))[:_MOST_TAGS]


def kind_of(frontmatter: Frontmatter) -> str:
    """The `type` of its frontmatter, or an empty string."""
    kind = frontmatter.values.get("type")
    return kind.strip()[:_MOST_TAG_CHARS] if isinstance(kind, str) else ""


def date_of(frontmatter: Frontmatter, text: str, *, path: str = "", title: str = "") -> date | None:
    """The day a document is about: of its frontmatter, its path, its title, or a `Date:` line at its beginning."""
    for field in DATE_FIELDS:
        if (value := frontmatter.values.get(field)) is not None and (day := read_date(value)):
            return day
    day = find_path_date(path) or find_date(title)
    if day is None and (line := _DATE_LINE.search(text, frontmatter.body, frontmatter.body + _DATE_WITHIN)):
        return find_date(line[1])
    return day


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType] - of objects


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _line(text: str) -> str:
    return " ".join(text[: MOST_TITLE_CHARS * 2].split())[:MOST_TITLE_CHARS].strip()


def _line_before(text: str, at: int, start: int) -> str:
    end = max(at - 1, start)
    return text[text.rfind("\n", start, end) + 1 if "\n" in text[start:end] else start : end]


def _parse(block: str) -> Mapping[str, object]:
    # Imported here: 25 ms that only those who have frontmatter pay.
    import yaml

    builder = _Builder()
    try:
        for event in _events(block):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise _Broken(f"not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise _Broken("it holds a character that YAML does not allow") from error
    if builder.root is None:
        return {}
    if not isinstance(builder.root, dict):
        raise _Broken("it is not a mapping of names to values")
    return builder.root


def _events(block: str) -> "Sequence[yaml.Event]":
    import yaml

    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    # The stubs of PyYAML leave `parse` untyped.
    return yaml.parse(block, Loader=loader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class _Builder:
    """Puts a document together from YAML events, within limits and of plain values only."""

    def __init__(self) -> None:
        self.root: _Value = None
        self._open: list[dict[str, object] | list[object]] = []
        self._keys: list[str | None] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: "yaml.Event") -> None:
        import yaml

        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._begin({}, event.tag, event.anchor)
            case yaml.SequenceStartEvent():
                self._begin([], event.tag, event.anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
                self._keys.pop()
            case yaml.AliasEvent():
                raise _Broken("aliases are not allowed")
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _Broken("it holds more than one document")
            case _:
                pass

    def _begin(self, holder: dict[str, object] | list[object], tag: str | None, anchor: str | None) -> None:
        if tag is not None and tag not in _HOLDER_TAGS:
            raise _Broken("tags are not allowed")
        if anchor is not None:
            raise _Broken("anchors are not allowed")
        if len(self._open) >= _MOST_DEPTH:
            raise _Broken(f"it is nested more than {_MOST_DEPTH} deep")
        self._place(holder)
        self._open.append(holder)
        self._keys.append(None)

    def _scalar(self, event: "yaml.ScalarEvent") -> None:
        if event.anchor is not None:
            raise _Broken("anchors are not allowed")
        if event.tag is not None and event.tag not in _PLAIN_TAGS and event.tag not in _TEXT_TAGS:
            raise _Broken("tags are not allowed")
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            self._keys[-1] = event.value
        elif event.tag in _TEXT_TAGS or event.style:
            self._place(event.value)
        else:
            self._place(_plain(event.value))

    def _place(self, value: _Value) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise _Broken(f"it holds more than {_MOST_NODES:,} values")
        if not self._open:
            self.root = value
            return
        holder = self._open[-1]
        if isinstance(holder, list):
            holder.append(value)
            return
        key = self._keys[-1]
        if key is None:
            raise _Broken("a key is a list or a mapping")
        holder[key] = value
        self._keys[-1] = None


def _plain(text: str) -> str | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    if not number["part"] and not number["power"]:
        return int(text)
    value = float(text)
    return value if value not in (float("inf"), float("-inf")) else text
