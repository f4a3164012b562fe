"""Readers for the fields of other programs' entries: what each kind of field becomes in Limen, and what is told."""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct, field

from limen.clock import parse_duration_s
from limen.shapes import is_array, is_object

__all__ = [
    "Draft",
    "Handler",
    "TimeoutUnit",
    "as_flag",
    "as_text",
    "take_args",
    "take_bearer",
    "take_bearer_variable",
    "take_command",
    "take_disabled",
    "take_drop",
    "take_duration",
    "take_enabled",
    "take_flag",
    "take_header_variables",
    "take_ignore",
    "take_kind",
    "take_number",
    "take_start_timeout",
    "take_table",
    "take_text",
    "take_timeout",
    "take_variables",
    "take_words",
]

TimeoutUnit = Literal["s", "ms", "start"]
"""What a bare number in `timeout` means: seconds or milliseconds of a call, or the time a server has to start."""

_YES: Final = frozenset({"true", "yes", "on"})
_NO: Final = frozenset({"false", "no", "off"})


class Draft(Struct):
    """An entry on its way to be Limen's."""

    fields: dict[str, object] = field(default_factory=dict[str, object])
    notes: list[str] = field(default_factory=list[str])
    kind: str | None = None
    """What `type` or `transport` said."""
    timeout_unit: TimeoutUnit = "s"
    excluded: tuple[str, ...] = ()

    def note(self, text: str) -> None:
        """Tell the owner something, once."""
        if text not in self.notes:
            self.notes.append(text)

    def bad(self, key: str, wanted: str) -> None:
        """Tell that a field is left out because of what it holds."""
        self.note(f"`{key}` is left out: it is not {wanted}")


Handler = Callable[[Draft, str, object], None]


def as_text(value: object) -> str | None:
    """A text, number or boolean as it would be written; None for anything else."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            return None


def as_flag(value: object) -> bool | None:
    """A boolean, also when it is written as a word."""
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def take_text(target: str) -> Handler:
    """A text that is not empty; the first key that gives it wins."""

    def read(draft: Draft, key: str, value: object) -> None:
        text = as_text(value)
        if text is None or not text.strip():
            draft.bad(key, "a text")
        else:
            draft.fields.setdefault(target, text)

    return read


def take_number(target: str) -> Handler:
    """A whole number."""

    def read(draft: Draft, key: str, value: object) -> None:
        text = as_text(value) or ""
        if text.isdecimal():
            draft.fields[target] = int(text)
        else:
            draft.bad(key, "a number")

    return read


def take_command(draft: Draft, key: str, value: object) -> None:
    """A program, or a list of the program and its arguments."""
    words = [as_text(item) for item in value] if is_array(value) else [as_text(value)]
    if not words or None in words or not words[0]:
        draft.bad(key, "a program, or a list of words")
        return
    draft.fields["command"], *rest = words
    if rest:
        draft.fields["args"] = [*rest, *_list(draft.fields.get("args"))]


def take_args(draft: Draft, key: str, value: object) -> None:
    """A list of words, behind those that came with the command."""
    words = [as_text(item) for item in value] if is_array(value) else None
    if words is None or None in words:
        draft.bad(key, "a list of words")
    else:
        draft.fields["args"] = [*_list(draft.fields.get("args")), *words]


def take_words(target: str) -> Handler:
    """A list of words."""

    def read(draft: Draft, key: str, value: object) -> None:
        words = [as_text(item) for item in value] if is_array(value) else None
        if words is None or None in words:
            draft.bad(key, "a list of words")
        else:
            draft.fields[target] = words

    return read


def take_table(target: str) -> Handler:
    """Names with texts; several keys add up."""

    def read(draft: Draft, key: str, value: object) -> None:
        if not is_object(value):
            draft.bad(key, "a mapping of names to texts")
            return
        texts = {str(name): as_text(item) for name, item in value.items()}
        for name in [name for name, text in texts.items() if text is None]:
            draft.bad(f"{key}.{name}", "a text")
        kept = {name: text for name, text in texts.items() if text is not None}
        draft.fields[target] = {**_mapping(draft.fields.get(target)), **kept}

    return read


def take_variables(target: str) -> Handler:
    """Names of variables that the program gets from whoever starts it."""

    def read(draft: Draft, key: str, value: object) -> None:
        names = [name for item in value if (name := _variable(item))] if is_array(value) else []
        added = {name: f"${{{name}}}" for name in names}
        draft.fields[target] = {**added, **_mapping(draft.fields.get(target))}

    return read


def _variable(item: object) -> str:
    if is_object(item):
        item = item.get("name")
    return item if isinstance(item, str) and item.isidentifier() else ""


def take_header_variables(draft: Draft, key: str, value: object) -> None:
    """Headers whose values are the names of variables."""
    if not is_object(value):
        draft.bad(key, "a mapping of headers to variables")
        return
    added = {str(name): f"${{{item}}}" for name, item in value.items() if isinstance(item, str) and item}
    draft.fields["headers"] = {**_mapping(draft.fields.get("headers")), **added}


def take_bearer_variable(draft: Draft, key: str, value: object) -> None:
    """The name of a variable that holds a bearer token."""
    if isinstance(value, str) and value:
        headers = _mapping(draft.fields.get("headers"))
        draft.fields["headers"] = {**headers, "Authorization": f"Bearer ${{{value}}}"}
    else:
        draft.bad(key, "the name of a variable")


def take_bearer(draft: Draft, key: str, value: object) -> None:
    """A bearer token that is written out."""
    if isinstance(value, str) and value:
        headers = _mapping(draft.fields.get("headers"))
        draft.fields["headers"] = {**headers, "Authorization": f"Bearer {value}"}
    else:
        draft.bad(key, "a token")


def take_enabled(draft: Draft, key: str, value: object) -> None:
    """Whether the server is used."""
    flag = as_flag(value)
    if flag is None:
        # Whoever wrote something here meant to switch something; off is the side that does no harm.
        draft.note(f"`{key}` is neither true nor false, so the server is switched off")
    if flag is not True:
        draft.fields["enabled"] = False


def take_disabled(draft: Draft, key: str, value: object) -> None:
    """Whether the server is switched off."""
    flag = as_flag(value)
    if flag is None:
        draft.note(f"`{key}` is neither true nor false, so the server is switched off")
    if flag is not False:
        draft.fields["enabled"] = False


def take_flag(target: str) -> Handler:
    """True or false; only true is written down."""

    def read(draft: Draft, key: str, value: object) -> None:
        flag = as_flag(value)
        if flag is None:
            draft.bad(key, "true or false")
        elif flag:
            draft.fields[target] = True

    return read


def take_kind(draft: Draft, key: str, value: object) -> None:
    """How the server is reached."""
    if isinstance(value, str) and value:
        draft.kind = draft.kind or value
    else:
        draft.bad(key, "a text")


def take_timeout(draft: Draft, key: str, value: object) -> None:
    """The time a call may take, or a start, in the unit of the format."""
    if draft.timeout_unit == "start":
        take_start_timeout(draft, key, value)
        return
    take_duration("timeout", draft.timeout_unit)(draft, key, value)


def take_start_timeout(draft: Draft, key: str, value: object) -> None:
    """The time that a start may take."""
    del value
    draft.note(f"`{key}` is left out: it bounds the start of the server, for which Limen has a bound of its own")


def take_duration(target: str, unit: Literal["s", "ms"]) -> Handler:
    """A time; a bare number is in `unit`."""

    def read(draft: Draft, key: str, value: object) -> None:
        text = as_text(value) or ""
        text = f"{text}{unit}" if text.replace(".", "", 1).isdigit() else text
        try:
            seconds = parse_duration_s(text)
        except ValueError:
            draft.bad(key, "a time")
            return
        if seconds <= 0:
            draft.bad(key, "more than no time")
            return
        draft.fields[target] = f"{seconds:.0f}s" if seconds == int(seconds) else f"{seconds * 1000:.0f}ms"

    return read


def take_drop(reason: str) -> Handler:
    """A field that Limen has no place for, and what to do about it."""

    def read(draft: Draft, key: str, value: object) -> None:
        if value not in (None, False, "", [], {}):
            draft.note(f"`{key}` is left out: {reason}")

    return read


def take_ignore(draft: Draft, key: str, value: object) -> None:
    """A field that says nothing about how the server is reached."""
    del draft, key, value


def _list(value: object) -> list[object]:
    return list(value) if is_array(value) else []


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if is_object(value) else {}
