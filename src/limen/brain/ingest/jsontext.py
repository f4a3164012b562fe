"""From JSON to text that people and an index can read: messages as a conversation, the rest laid out in lines."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from limen.brain.days import read_date
from limen.brain.jsonspans import MESSAGE_LISTS, SPEAKER_FIELDS, SPOKEN_FIELDS
from limen.errors import Unreadable
from limen.shapes import is_array, is_object

__all__ = ["JsonText", "read_json"]

_DATES: Final = ("date", "session_date", "created_at", "created", "create_time", "timestamp")


class JsonText(Struct, frozen=True, kw_only=True):
    """A JSON file as text."""

    text: str
    title: str | None
    date: str | None
    is_conversation: bool


def read_json(text: str, name: str) -> JsonText:
    """The JSON of a text, or one value in each line of it.

    Raises:
        Unreadable: it is neither.
    """
    value = _parse(text, name)
    said = _conversation(value)
    about: Mapping[str, Any] = value if is_object(value) else {}
    title = _title(about)
    day = next((day for field in _DATES if (day := read_date(about.get(field)))), None)
    date = day.isoformat() if day else None
    if said:
        return JsonText(text=_transcript(said, title, date), title=title, date=date, is_conversation=True)
    laid_out = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return JsonText(text=laid_out, title=title, date=date, is_conversation=False)


def _parse(text: str, name: str) -> object:
    try:
        return _load(text)
    except json.JSONDecodeError as error:
        try:
            lines = [_load(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            raise Unreadable(
                f"{name!r}: not JSON: {error.msg}, line {error.lineno}, column {error.colno};"
                " mend it, or read it with `as: text`"
            ) from error
        return lines
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name!r}: JSON that is nested or numbered beyond reason; read it with `as: text`") from error


def _load(text: str) -> object:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _conversation(value: object) -> Sequence[tuple[str, str]]:
    messages = value
    if is_object(value):
        messages = next((value[key] for key in value if key.lower() in MESSAGE_LISTS), None)
    if not is_array(messages) or not messages:
        return ()
    said = [turn for message in messages if (turn := _turn(message)) is not None]
    return said if len(said) * 5 >= len(messages) * 4 else ()


def _turn(message: object) -> tuple[str, str] | None:
    if not is_object(message):
        return None
    speaker = _first(message, SPEAKER_FIELDS, _speaker)
    words = _first(message, SPOKEN_FIELDS, _words)
    return (speaker, words) if speaker and words else None


def _first(message: Mapping[str, Any], fields: Sequence[str], read: Callable[[object], str]) -> str:
    return next((found for field in fields if (found := read(message.get(field)))), "")


def _speaker(value: object) -> str:
    if is_object(value):
        value = next((value[key] for key in ("name", "role", "display_name") if value.get(key)), "")
    return " ".join(value.replace(":", " ").split())[:40] if isinstance(value, str) else ""


def _words(value: object) -> str:
    """A message's words: a text, or parts of which some are texts."""
    return "\n\n".join(_texts(value, 0)).strip()


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_array(value) and depth < 3:
        for part in value:
            yield from _texts(part, depth + 1)
    elif is_object(value) and depth < 3:
        yield from _texts(value.get("text") or value.get("parts"), depth + 1)


def _title(about: Mapping[str, Any]) -> str | None:
    title = about.get("title") or about.get("name")
    return " ".join(title.split())[:512] or None if isinstance(title, str) else None


def _transcript(said: Sequence[tuple[str, str]], title: str | None, date: str | None) -> str:
    head = ["---", "type: conversation"]
    if title:
        # A JSON string is also a YAML one.
        head.append(f"title: {json.dumps(title)}")
    if date:
        head.append(f"date: {date}")
    turns = [f"**{speaker}:** {words}" for speaker, words in said]
    return "\n".join([*head, "---", ""]) + "\n" + "\n\n".join(turns) + "\n"
