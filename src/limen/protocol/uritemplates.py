"""URI templates (RFC 6570, the forms MCP servers use): expansion is the client's business, matching is ours.

Templates come from upstreams and URIs from clients, so nothing here backtracks: the work is bounded by the parts
of the one times the length of the other, and both have a limit beyond which nothing matches.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

__all__ = ["match"]

URI_CHARS: Final = 8192
TEMPLATE_PARTS: Final = 64

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,%*]+)\}")
_JOINTS = {"": ("", ","), "+": ("", ","), "#": ("#", ","), ".": (".", "."), "/": ("/", "/"), ";": (";", ";")}


class _Hole(Struct, frozen=True):
    """Where a value stands, and the characters it cannot hold."""

    name: str
    stops: str


class _Compiled(Struct, frozen=True):
    parts: tuple[str | _Hole, ...]
    query: frozenset[str]
    fixed_pairs: int
    """How many `&` the template itself has after its own `?`; -1 when it has no `?`."""


def match(template: str, uri: str) -> dict[str, str] | None:
    """The variables with which `template` expands to `uri`, or None when it does not.

    Query variables (`{?a,b}`) are optional and come in any order; unknown query names do not match.
    """
    compiled = _compile(template)
    if len(uri) > URI_CHARS or len(compiled.parts) > TEMPLATE_PARTS:
        return None
    head, tail = _split(uri, compiled)
    values = _fill(compiled.parts, head)
    if values is None or not tail:
        return values
    pairs = parse_qsl(tail, keep_blank_values=True)
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names) or not compiled.query.issuperset(names):
        return None
    return values | dict(pairs)


def _split(uri: str, compiled: _Compiled) -> tuple[str, str]:
    """What the parts must fill, and the optional query behind it."""
    if not compiled.query:
        return uri, ""
    if compiled.fixed_pairs < 0:
        head, _, tail = uri.partition("?")
        return head, tail
    pieces = uri.split("&", compiled.fixed_pairs + 1)
    return "&".join(pieces[: compiled.fixed_pairs + 1]), "&".join(pieces[compiled.fixed_pairs + 1 :])


def _fill(parts: Sequence[str | _Hole], text: str) -> dict[str, str] | None:
    """The values that make the parts spell the text: forward to see how far each part can reach, then back."""
    reach = [{0}]
    for part in parts:
        reach.append(_ends(part, text, reach[-1]))
        if not reach[-1]:
            return None
    end = len(text)
    if end not in reach[-1]:
        return None
    values: dict[str, str] = {}
    for part, starts in zip(reversed(parts), reversed(reach[:-1]), strict=True):
        if isinstance(part, str):
            end -= len(part)
            continue
        start = next(start for start in range(end - 1, -1, -1) if start in starts)
        value = unquote(text[start:end])
        if values.setdefault(part.name, value) != value:
            return None
        end = start
    return values


def _ends(part: str | _Hole, text: str, starts: set[int]) -> set[int]:
    if isinstance(part, str):
        return {start + len(part) for start in starts if text.startswith(part, start)}
    ends: set[int] = set()
    is_inside = False
    for place in range(min(starts), len(text)):
        is_inside = text[place] not in part.stops and (is_inside or place in starts)
        if is_inside:
            ends.add(place + 1)
    return ends


@lru_cache(maxsize=1024)
def _compile(template: str) -> _Compiled:
    parts, query, literal, last = list[str | _Hole](), set[str](), "", 0
    for expression in _EXPRESSION.finditer(template):
        literal += template[last : expression.start()]
        parts.append(template[last : expression.start()])
        last = expression.end()
        operator, names = expression[1], [name.rstrip("*") for name in expression[2].split(",")]
        if operator in ("?", "&"):
            query.update(names)
        else:
            parts += _holes(operator, names)
    literal += template[last:]
    parts.append(template[last:])
    before, mark, after = literal.partition("?")
    fixed_pairs = before.count("&") + after.count("&") if mark else -1
    return _Compiled(tuple(part for part in parts if part), frozenset(query), fixed_pairs)


def _holes(operator: str, names: Sequence[str]) -> list[str | _Hole]:
    lead, joint = _JOINTS[operator]
    stops = "?#" if operator in ("+", "#") else "/?#"
    parts: list[str | _Hole] = []
    for place, name in enumerate(names):
        parts.append((joint if place else lead) + (f"{name}=" if operator == ";" else ""))
        parts.append(_Hole(name, stops))
    return parts
