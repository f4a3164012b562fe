"""Takes secrets that stand in another program's file out of an entry: a variable is named instead, and told.

Knows secrets by the names they stand under and by their looks, so an unusual one can slip through; placeholders are
never touched.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from limen.config.foreign.placeholders import variable_name
from limen.config.variables import hide_literals
from limen.redact import MASK, redact_text, redact_value

__all__ = ["SecretNames", "Secrets"]

# Names that stand for a secret besides those that are masked everywhere.
_SECRET_NAME = re.compile(r"(?i)(?:^|[_-])(?:key|pat|auth|pwd|apikey|signature)(?:$|[_-])")
_PLAIN_NAME = re.compile(
    r"(?i)(?:[_-](?:file|path|dir|url|uri|host|name|id|type|ttl|limit)$)|(?:max|num|count)[_-]?tokens?$"
)
_PLAIN_VALUE = re.compile(r"(?i)true|false|yes|no|on|off|none|null|[0-9]{1,3}|")
_ASSIGNMENT = re.compile(r"(?P<lead>-{0,2}(?P<name>[A-Za-z][A-Za-z0-9_.-]*)=)(?P<value>.+)", re.DOTALL)
_QUERY = re.compile(r"(?P<lead>[?&;](?P<name>[^=?&#;]+)=)(?P<value>[^&#;]+)")
_SEGMENT = re.compile(
    r"(?<=/)(?:[0-9a-fA-F]{32,}|(?=[^/]*[0-9])(?=[^/]*[A-Z])(?=[^/]*[a-z])[A-Za-z0-9_=-]{20,})(?=[/?#]|$)"
)
_SCHEME = re.compile(r"(?i)(?P<scheme>bearer|basic|token) +")
_MOST_NAMES: Final = 1000


class SecretNames(Struct):
    """The variables that were named so far, so that two different secrets never share one."""

    values: dict[str, str] = field(default_factory=dict[str, str])

    def name(self, wanted: str, server: str, value: str) -> str:
        """The variable for this secret: the name wanted, or one with the server's before it when that is taken."""
        own = wanted if wanted.startswith(variable_name(server)) else f"{variable_name(server)}_{wanted}"
        numbered = (f"{own}_{number}" for number in range(2, _MOST_NAMES))
        for name in (wanted, own, *numbered):
            if self.values.setdefault(name, value) == value:
                return name
        return own


class Secrets(Struct):
    """Takes the secrets out of one server's entry."""

    server: str
    names: SecretNames
    moved: list[str] = field(default_factory=list[str])
    """The variables that have to be set now."""

    def env(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Environment variables."""
        return {key: self._named(key, value, _as_variable(key)) for key, value in variables.items()}

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """HTTP headers."""
        return {key: self._header(key, value) for key, value in headers.items()}

    def arguments(self, words: Sequence[str]) -> list[str]:
        """Command-line words; an option's value is known by the option before it."""
        return [self._argument(before, word) for before, word in zip(["", *words], words, strict=False)]

    def url(self, url: str) -> str:
        """An address: its password, its query, and parts of its path that only a machine could have thought of."""

        def query(found: re.Match[str]) -> str:
            value = self._named(found["name"], found["value"], self._own(found["name"]))
            return found["lead"] + value

        return _SEGMENT.sub(lambda found: self._move(found[0], self._own("key")), _QUERY.sub(query, self._looks(url)))

    def _header(self, name: str, value: str) -> str:
        scheme = _SCHEME.match(value)
        lead, rest = (scheme[0], value[scheme.end() :]) if scheme else ("", value)
        wanted = self._own("token" if name.casefold() == "authorization" else name)
        return lead + self._named(name if not scheme else "token", rest, wanted)

    def _argument(self, before: str, word: str) -> str:
        if before.startswith("-") and "=" not in before and not word.startswith("-") and _is_secret(before, word):
            return self._named(before, word, self._own(before))
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None and _is_secret(found["name"], found["value"]):
            # `KEY=value` is how containers are given a variable, which has a name already.
            is_option = found["lead"].startswith("-")
            wanted = self._own(found["name"]) if is_option else _as_variable(found["name"])
            return found["lead"] + self._named(found["name"], found["value"], wanted)
        return self._looks(word)

    def _named(self, name: str, value: str, wanted: str) -> str:
        return self._move(value, wanted) if _is_secret(name, value) else self._looks(value)

    def _looks(self, text: str) -> str:
        """The text without what looks like a secret wherever it stands."""
        masked = redact_text(text)
        if masked == text:
            return text
        start, _, rest = masked.partition(MASK)
        end = rest.rpartition(MASK)[2]
        secret = text[len(start) : len(text) - len(end)]
        return start + self._move(secret, self._own("secret")) + end

    def _move(self, value: str, wanted: str) -> str:
        name = self.names.name(wanted, self.server, value)
        if name not in self.moved:
            self.moved.append(name)
        return f"${{{name}}}"

    def _own(self, name: str) -> str:
        return variable_name(f"{self.server}_{name}")


def _as_variable(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else variable_name(name)


def _is_secret(name: str, value: str) -> bool:
    """Whether what stands under this name is a secret that is written out."""
    if _PLAIN_VALUE.fullmatch(value) or _PLAIN_NAME.search(name) or MASK not in hide_literals(value, MASK):
        return False
    return redact_value({name: value}) == {name: MASK} or bool(_SECRET_NAME.search(name.lstrip("-")))
