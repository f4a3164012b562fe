"""The query language: `"phrase"`, AND, OR, NOT, `prefix*` and plain words; pure, and never a syntax error.

Operators count in capitals and between spaces only. OR binds tighter than AND, as in web searches: `a OR b AND c` asks
for one of a and b, and for c. A quoted phrase must occur, except in a question, where quotes name a title as often as
they quote. What makes no sense (`a OR`, a leading NOT, half a pair of quotes, `*`) is read as if it were not there.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from limen.brain.retrieval.stopwords import CJK_QUESTION_WORDS, QUESTION_WORDS, STOP_WORDS
from limen.errors import InvalidArguments

__all__ = ["MAX_QUERY_CHARS", "Atom", "Query", "clean", "format_query", "parse_query"]

MAX_QUERY_CHARS = 4096
Operator = Literal["AND", "OR", "NOT"]
Thing = TypeVar("Thing")

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad]")
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"', "\uff02": '"'})
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


class Atom(Struct, frozen=True):
    """One thing to look for; `text` is as it was written, without quotes, star or punctuation around it."""

    kind: Literal["word", "phrase", "prefix"]
    text: str


class Query(Struct, frozen=True):
    """What is asked for. Of each group in `must` one atom has to be there; what is in `should` helps."""

    must: tuple[tuple[Atom, ...], ...] = ()
    should: tuple[Atom, ...] = ()
    must_not: tuple[Atom, ...] = ()

    @property
    def wanted(self) -> tuple[Atom, ...]:
        """Everything that speaks for a passage, each once."""
        return _once(atom for group in (*self.must, self.should) for atom in group)

    @property
    def phrases(self) -> tuple[Atom, ...]:
        """The wanted phrases."""
        return tuple(atom for atom in self.wanted if atom.kind == "phrase")

    @property
    def prefixes(self) -> tuple[Atom, ...]:
        """The wanted beginnings of words."""
        return tuple(atom for atom in self.wanted if atom.kind == "prefix")

    @property
    def words(self) -> tuple[str, ...]:
        """The wanted words, those of phrases included."""
        return tuple(word for atom in self.wanted if atom.kind != "prefix" for word in atom.text.split())


class _Group:
    def __init__(self, atom: Atom, *, is_required: bool) -> None:
        self.atoms = [atom]
        self.is_required = is_required


def clean(text: str) -> str:
    """The text as NFC, without what cannot be seen, in single spaces."""
    seen = _UNUSABLE.sub(" ", _INVISIBLE.sub("", text))
    return " ".join(unicodedata.normalize("NFC", seen).split())


def parse_query(text: str, *, field: str = "query") -> Query:
    """Read what somebody typed.

    Raises:
        InvalidArguments: it is longer than `MAX_QUERY_CHARS`.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidArguments(
            f"{field}: must have at most {MAX_QUERY_CHARS} characters, this has {len(text)}", field=field
        )
    cleaned = clean(text).translate(_QUOTES)
    items = list(_items(cleaned))
    is_question = _is_question(cleaned)
    groups, must_not = _grouped(items, phrases_required=not is_question)
    must = _once(_once(group.atoms) for group in groups if group.is_required)
    should = _once(atom for group in groups if not group.is_required for atom in group.atoms)
    if not must and not must_not:
        should = _without_stop_words(should)
    return Query(must=must, should=should, must_not=_once(must_not))


def format_query(query: Query) -> str:
    """The query as one would type it; `parse_query` reads the same out of it."""
    groups = [" OR ".join(map(_format_atom, group)) for group in query.must]
    if len(query.must) == 1 and len(query.must[0]) == 1 and query.must[0][0].kind != "phrase":
        groups *= 2
    parts = [" AND ".join(groups), *map(_format_atom, query.should)]
    parts += [f"NOT {_format_atom(atom)}" for atom in query.must_not]
    if any(atom.kind == "phrase" for atom in query.should):
        parts.append("?")
    return " ".join(part for part in parts if part)


def _format_atom(atom: Atom) -> str:
    match atom.kind:
        case "word":
            return atom.text
        case "phrase":
            return f'"{atom.text}"'
        case "prefix":
            return f"{atom.text}*"


def _is_question(text: str) -> bool:
    first = text.partition(" ")[0].casefold()
    return text.endswith(_QUESTION_MARKS) or first in QUESTION_WORDS


def _items(text: str) -> Iterator[Atom | Operator]:
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
        elif text[at] == '"' and (end := text.find('"', at + 1)) > 0:
            yield from _phrase(text[at + 1 : end])
            at = end + 1
        else:
            end = text.find(" ", at)
            end = len(text) if end < 0 else end
            yield from _word(text[at:end])
            at = end


def _phrase(inside: str) -> Iterator[Atom]:
    trimmed = " ".join(inside.split())
    if any(char.isalnum() for char in trimmed):
        yield Atom("phrase", trimmed)


def _word(token: str) -> Iterator[Atom | Operator]:
    if token == "AND" or token == "OR" or token == "NOT":
        yield token
        return
    is_prefix = token.endswith("*")
    bare = _stripped(token)
    if not bare:
        return
    if is_prefix and any(char.isalnum() for char in bare):
        yield Atom("prefix", bare)
    elif not is_prefix:
        # Brackets around an operator made it a word, and a word it stays when it is written again.
        yield Atom("word", bare.lower() if bare in {"AND", "OR", "NOT"} else bare)


def _stripped(token: str) -> str:
    start, end = 0, len(token)
    while start < end and _is_edge(token[start]):
        start += 1
    while end > start and _is_edge(token[end - 1]):
        end -= 1
    # C++, C# and F# are names.
    tail = next((sign for sign in ("++", "#") if start < end and token.startswith(sign, end)), "")
    return token[start:end] + tail


def _is_edge(char: str) -> bool:
    return char == "`" or char == "^" or unicodedata.category(char)[0] in "PZC" or unicodedata.category(char) == "Sm"


def _grouped(items: Sequence[Atom | Operator], *, phrases_required: bool) -> tuple[list[_Group], list[Atom]]:
    groups: list[_Group] = []
    must_not: list[Atom] = []
    join: Operator | None = None
    is_negated = False
    for item in items:
        if item == "NOT":
            is_negated = bool(groups)
        elif isinstance(item, str):
            join = item if groups else None
        else:
            if join == "AND":
                groups[-1].is_required = True
            if is_negated:
                must_not.append(item)
            elif join == "OR":
                groups[-1].atoms.append(item)
                groups[-1].is_required = True
            else:
                is_required = join == "AND" or (phrases_required and item.kind == "phrase")
                groups.append(_Group(item, is_required=is_required))
            join, is_negated = None, False
    return groups, must_not


def _without_stop_words(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    cut = _once(part for atom in atoms for part in _cut(atom))
    kept = tuple(atom for atom in cut if not _is_stop_word(atom))
    return kept or atoms


def _cut(atom: Atom) -> Iterator[Atom]:
    if atom.kind != "word":
        yield atom
        return
    for part in CJK_QUESTION_WORDS.sub(" ", atom.text).split():
        yield from (item for item in _word(part) if isinstance(item, Atom))


def _is_stop_word(atom: Atom) -> bool:
    # Capitals are a name: US, IT, WHO.
    is_name = len(atom.text) > 1 and atom.text.isupper()
    return atom.kind == "word" and not is_name and atom.text.replace("\u2019", "'").casefold() in STOP_WORDS


def _once(things: Iterable[Thing]) -> tuple[Thing, ...]:
    return tuple(dict.fromkeys(things))
