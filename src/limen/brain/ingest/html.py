"""From a web page to readable markdown: its main content, without navigation, scripts and what is hidden from eyes."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from limen.brain.days import find_date
from limen.brain.ingest.htmltokens import End, Start, Text, tokens
from limen.brain.ingest.rendering import join_blocks, literal, table_lines

__all__ = ["HtmlPage", "claimed_charset", "read_html"]

_DROPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "footer", "aside"}
    | {
        "form",
        "button",
        "select",
        "option",
        "dialog",
        "menu",
        "head",
        "textarea",
        "xmp",
        "noembed",
        "noframes",
        "audio",
    }
)
_VOID: Final = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr"}
)
_BLOCKS: Final = frozenset(
    {"address", "article", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption"}
    | {"figure", "header", "html", "main", "p", "section", "summary", "table", "ul", "ol", "li", "hgroup", "caption"}
)
_CELLS: Final = frozenset({"td", "th", "p"})
_ENDED_BY: Final = {
    "li": frozenset({"li", "p"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS | {"tr"},
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
}
"""Elements that end without a tag of their own where another of these begins; a paragraph ends where any block does."""
_NOTHING: Final[frozenset[str]] = frozenset()
_PARAGRAPH: Final = frozenset({"p"})
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0", re.I
)
_SIDE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "dialog", "alert"}
)
_SIDE_NAMES: Final = re.compile(
    r"\b(?:cookie|consent|sidebar|breadcrumbs?|share|social|advert\w{0,10}|newsletter|navbar)\b", re.I
)
_META_DATES: Final = ("article:published_time", "date", "dc.date", "dcterms.created", "pubdate", "publish_date")
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s{0,3}=\s{0,3}[\"']?\s{0,3}([A-Za-z0-9_\-]{2,30})", re.I)
_MOST_DEPTH: Final = 2000
"""Open elements that are kept track of; deeper ones count as text of the last."""
_ENOUGH: Final = 200
"""Characters that make a marked main part worth having for itself."""


class HtmlPage(Struct, frozen=True, kw_only=True):
    """What a reader would see of a page."""

    markdown: str
    title: str | None
    date: str | None
    """`YYYY-MM-DD`, when the page tells when it was published."""
    description: str = ""


def claimed_charset(content: bytes) -> str:
    """The encoding a page claims for itself near its beginning, or an empty string."""
    found = _CHARSET.search(content, 0, 4096)
    return found[1].decode("ascii") if found else ""


def read_html(text: str) -> HtmlPage:
    """The readable part of a page."""
    reader = _Reader()
    for token in tokens(text):
        match token:
            case Start():
                reader.start(token.name, token.attributes)
            case End():
                reader.end(token.name)
            case Text():
                reader.text(token.text)
    reader.finish()
    title = " ".join((reader.meta.get("og:title") or reader.title).split()) or None
    dates = (found for name in _META_DATES if (found := find_date(reader.meta.get(name, ""))))
    day = next(dates, None)
    description = " ".join((reader.meta.get("description") or reader.meta.get("og:description") or "").split())
    return HtmlPage(
        markdown=reader.markdown(), title=title, date=day.isoformat() if day else None, description=description[:500]
    )


class _Open(Struct):
    """An element whose end has not come."""

    name: str
    is_dropped: bool
    is_main: bool


class _Reader:
    """Follows the tags, writes markdown."""

    def __init__(self) -> None:
        self.meta: dict[str, str] = {}
        self.title = ""
        self._open: list[_Open] = []
        self._dropped = 0
        self._main = 0
        self._blocks: list[tuple[str, bool]] = []
        """Finished blocks, and whether each is part of the main content."""
        self._words: list[str] = []
        self._prefix = ""
        self._lists: list[int] = []
        """Of each open list: the number of its next item, 0 for bullets."""
        self._code: list[str] | None = None
        self._rows: list[list[str]] | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "meta":
            key = (attributes.get("name") or attributes.get("property") or "").lower()
            self.meta.setdefault(key, attributes.get("content", ""))
        if name in _VOID:
            self._void(name, attributes)
            return
        ended = _ENDED_BY.get(name, _PARAGRAPH if name in _BLOCKS or name in _HEADINGS else _NOTHING)
        while self._open and self._open[-1].name in ended:
            self.end(self._open[-1].name)
        if len(self._open) < _MOST_DEPTH:
            dropped = name in _DROPPED or _is_aside(name, attributes)
            main = name in ("main", "article") or attributes.get("role") == "main"
            self._open.append(_Open(name, dropped, main))
            self._dropped += dropped
            self._main += main
        if not self._dropped:
            self._begin(name, attributes)

    def end(self, name: str) -> None:
        at = next(
            (at for at in range(len(self._open) - 1, max(-1, len(self._open) - 40), -1) if self._open[at].name == name),
            -1,
        )
        if at < 0:
            return
        is_shown = not self._dropped
        if is_shown:
            self._finish(name)
        for element in self._open[at:]:
            self._dropped -= element.is_dropped
            self._main -= element.is_main
        del self._open[at:]

    def text(self, text: str) -> None:
        if self._open and self._open[-1].name == "title" and not self.title:
            self.title = text[:1000]
        elif self._dropped or (self._open and self._open[-1].name == "title"):
            return
        elif self._code is not None:
            self._code.append(text)
        elif text:
            self._words.append(text)

    def finish(self) -> None:
        self._end_code()
        self._end_table()
        self._flush()

    def markdown(self) -> str:
        main = [block for block, is_main in self._blocks if is_main]
        chosen = main if sum(map(len, main)) >= _ENOUGH else [block for block, _ in self._blocks]
        return join_blocks(chosen)

    def _void(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._dropped:
            return
        if name == "br":
            (self._words if self._code is None else self._code).append("\n" if self._code is not None else _BREAK)
        elif name == "hr":
            self._flush()
        elif name == "img" and attributes.get("alt", "").strip():
            self._words.append(f" {attributes['alt']} ")

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._code is not None:
            return
        if name in ("tr", "td", "th"):
            self._begin_cell(name)
        elif self._rows is not None:
            # Whatever else stands in a table is words of its cell.
            self._words.append(" " if name in _BLOCKS or name in _HEADINGS else "")
        elif name in _BLOCKS or name in _HEADINGS or name == "pre":
            self._flush()
            self._begin_block(name, attributes)
        elif name == "code":
            self._words.append("`")

    def _begin_block(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in _HEADINGS:
            self._prefix = "#" * _HEADINGS[name] + " "
        elif name == "pre":
            self._code = []
        elif name == "table":
            self._rows = []
        elif name == "li":
            self._begin_item()
        elif name in ("ul", "ol"):
            self._lists.append(_number(attributes.get("start", "1")) if name == "ol" else 0)
        elif name == "blockquote":
            self._prefix = "> "

    def _begin_item(self) -> None:
        depth = max(min(len(self._lists), 8) - 1, 0)
        number = self._lists[-1] if self._lists else 0
        self._prefix = "  " * depth + (f"{number}. " if number else "- ")
        if number:
            self._lists[-1] += 1

    def _begin_cell(self, name: str) -> None:
        if self._rows is None:
            return
        if name == "tr":
            self._end_cell()
            self._rows.append([])
        else:
            self._end_cell()
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append("")

    def _end_cell(self) -> None:
        words = _squeeze("".join(self._words))
        self._words = []
        if words and self._rows:
            row = self._rows[-1]
            if row:
                row[-1] = f"{row[-1]} {words}".strip()
            else:
                row.append(words)
        elif words:
            self._add(words)

    def _finish(self, name: str) -> None:
        if name == "pre":
            self._end_code()
        elif self._code is not None:
            return
        elif name == "table":
            self._end_table()
        elif name in ("td", "th", "tr"):
            self._end_cell()
        elif self._rows is not None:
            return
        elif name in ("ul", "ol"):
            self._flush()
            if self._lists:
                self._lists.pop()
        elif name in _BLOCKS or name in _HEADINGS:
            self._flush()
        elif name == "code":
            self._words.append("`")

    def _end_code(self) -> None:
        if self._code is None:
            return
        code = "".join(self._code).strip("\n")
        self._code = None
        if code.strip():
            fence = "~~~" if "```" in code else "```"
            self._add(f"{fence}\n{code}\n{fence}")

    def _end_table(self) -> None:
        if self._rows is None:
            return
        self._end_cell()
        rows, self._rows = self._rows, None
        if lines := table_lines(rows):
            self._add("\n".join(lines))

    def _flush(self) -> None:
        if self._rows is not None:
            return
        raw = "".join(self._words)
        self._words = []
        prefix, self._prefix = self._prefix, "> " if self._prefix == "> " and not raw.strip() else ""
        lines = [words for line in raw.split(_BREAK) if (words := _squeeze(line))]
        if not lines:
            return
        if prefix.startswith("#"):
            self._add(prefix + " ".join(lines))
        elif prefix:
            rest = "> " if prefix == "> " else " " * len(prefix)
            self._add("\n".join((rest if number else prefix) + line for number, line in enumerate(lines)))
        else:
            self._add("\n".join(literal(line) for line in lines))

    def _add(self, block: str) -> None:
        self._blocks.append((block, self._main > 0))


_BREAK: Final = "\x1e"
"""Stands for a line break until the words are put together; to Python it is white space."""


def _is_aside(name: str, attributes: Mapping[str, str]) -> bool:
    if not attributes or name in ("html", "body", "main", "article"):
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("role") in _SIDE_ROLES:
        return True
    if _HIDDEN_STYLE.search(attributes.get("style", "")):
        return True
    return bool(_SIDE_NAMES.search(f"{attributes.get('class', '')} {attributes.get('id', '')}"))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 6 else 1
