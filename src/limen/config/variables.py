"""`${NAME}` and `${NAME:-default}` in text: filling them in, and hiding everything else. Refuses any other form."""

import re
from collections.abc import Mapping

from msgspec import Struct

__all__ = ["Expansion", "expand", "hide_literals"]

_PLACEHOLDER = re.compile(
    r"(?P<escaped>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}]*))?\}"
    r"|(?P<malformed>\$\{[^{}]*\}?)"
)
_AUTH_SCHEME = re.compile(r"(?i)(?:basic|bearer|token) +")


class Expansion(Struct, frozen=True):
    """A text with its variables filled in, the variables that are not set, and the forms that were not understood."""

    text: str
    missing: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything could be filled in."""
        return not self.missing and not self.malformed


def expand(text: str, env: Mapping[str, str]) -> Expansion:
    """Fill in the variables of a text; `$${` stands for a literal `${`, a default also replaces an empty value."""
    if "${" not in text:
        return Expansion(text)
    missing: list[str] = []
    malformed: list[str] = []

    def fill(found: re.Match[str]) -> str:
        if found["escaped"]:
            return "${"
        if found["malformed"]:
            malformed.append(found["malformed"])
            return found[0]
        value = env.get(found["name"])
        if found["default"] is not None:
            return value or found["default"]
        if value is None:
            missing.append(found["name"])
            return found[0]
        return value

    filled = _PLACEHOLDER.sub(fill, text)
    return Expansion(filled, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(malformed)))


def hide_literals(text: str, mask: str) -> str:
    """The text with only its placeholders readable: `Bearer ${TOKEN}` stays, `abc${TOKEN:-xyz}` is masked around it."""
    parts: list[str] = []
    scheme = _AUTH_SCHEME.match(text)
    at = scheme.end() if scheme else 0
    for found in _PLACEHOLDER.finditer(text, at):
        if not found["name"]:
            continue
        parts += [mask if text[at : found.start()] else "", _without_default(found, mask)]
        at = found.end()
    parts.append(mask if text[at:] else "")
    return (scheme[0] if scheme else "") + "".join(parts)


def _without_default(found: re.Match[str], mask: str) -> str:
    return f"${{{found['name']}:-{mask}}}" if found["default"] else found[0]
