"""The rules for paths, slugs and globs inside a brain; pure, and refuses what it cannot read in one way only."""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from limen.errors import InvalidPath

__all__ = [
    "MAX_PATH_CHARS",
    "RESERVED",
    "Scope",
    "check_path",
    "is_generated",
    "matches",
    "project_of",
    "scope_of",
    "slug_of",
    "tool_path",
]

MAX_PATH_CHARS = 1024
MAX_NAME_BYTES = 255
RESERVED = frozenset({".limen", ".git"})
"""Folders at a brain's root that are Limen's and git's own."""

Scope = Literal["global", "project", "agent", "wiki", "raw", "transcript", "other"]
_SCOPES: dict[str, Scope] = {"wiki": "wiki", "raw": "raw", "transcripts": "transcript"}
_MEMORY_SCOPES: dict[str, Scope] = {"global": "global", "project": "project", "agent": "agent"}
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def check_path(path: str, *, field: str = "path") -> str:
    """The path itself, when it is one that may name a document.

    Raises:
        InvalidPath: it is empty, absolute, not canonical, too long, or Limen's own.
    """
    fault = _fault_of(path)
    if fault is not None:
        raise InvalidPath(f"{field}: {fault}", field=field)
    return path


def tool_path(path: str, *, field: str = "path") -> str:
    """As `check_path`, but a leading slash is dropped, as callers of the tools are used to write it."""
    return check_path(path.removeprefix("/"), field=field)


def _fault_of(path: str) -> str | None:
    if not path:
        return "must not be empty"
    if len(path) > MAX_PATH_CHARS:
        return f"must have at most {MAX_PATH_CHARS} characters"
    if _LONE_SURROGATE.search(path):
        return "must be valid Unicode"
    if any(unicodedata.category(char) == "Cc" for char in path):
        return "must not hold NUL or other control characters"
    if "\\" in path:
        return "must use / between folders, not \\"
    if path.startswith("/") or path.endswith("/"):
        return "must not begin or end with a slash"
    segments = path.split("/")
    if any(segment in {"", ".", ".."} for segment in segments):
        return "must not hold empty segments, . or .."
    if any(len(segment.encode()) > MAX_NAME_BYTES for segment in segments):
        return f"each name must fit in {MAX_NAME_BYTES} bytes"
    # Some file systems fold case, and there `.GIT` would be git's own folder.
    if segments[0].casefold() in RESERVED or any(segment.casefold() == ".git" for segment in segments):
        return "the names .limen and .git are Limen's and git's own; choose another"
    return None


def is_generated(path: str) -> bool:
    """Whether the file is made by Limen and hidden unless asked for."""
    return path.rpartition("/")[2].startswith("_")


def scope_of(path: str) -> Scope:
    """The memory namespace a document lies in."""
    first, _, rest = path.partition("/")
    if first == "memory":
        return _MEMORY_SCOPES.get(rest.partition("/")[0], "other")
    return _SCOPES.get(first, "other")


def project_of(path: str) -> str:
    """The project a document belongs to, or an empty string."""
    parts = path.split("/")
    return parts[2] if len(parts) > 3 and parts[:2] == ["memory", "project"] else ""


def slug_of(text: str, *, fallback: str, limit: int = 64) -> str:
    """A file or brain name out of free text: lower case, digits and hyphens; `fallback` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:limit].strip("-") or fallback


def matches(name: str, glob: str) -> bool:
    """Whether a base name fits a glob of `*`, `?` and `[...]` (`!` or `^` negates)."""
    return _compiled(glob).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            # Runs of stars mean the same as one, and would make the matcher slow.
            if not out or out[-1] != ".*":
                out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (end := _class_end(glob, at)) > 0:
            out.append(_class(glob[at:end]))
            at = end + 1
        else:
            out.append(re.escape(char))
    return re.compile("".join(out), re.DOTALL)


def _class_end(glob: str, start: int) -> int:
    # A bracket right after the opening (or its negation) is a member, as everywhere.
    first = start + 1 if glob[start : start + 1] in {"!", "^"} else start
    return glob.find("]", first + 1)


def _class(body: str) -> str:
    negated = body[0] in "!^"
    members = body[1:] if negated else body
    parts: list[str] = []
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            low, high = members[at], members[at + 2]
            if low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
            at += 3
        else:
            parts.append(re.escape(members[at]))
            at += 1
    inside = "".join(parts)
    if not inside:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{inside}]"
