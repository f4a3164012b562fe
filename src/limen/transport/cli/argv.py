"""Arguments of a call as the words of a command line. Each value stays one word; no shell ever sees them."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from limen.errors import InvalidArguments
from limen.shapes import is_array
from limen.transport.cli.flags import Flag
from limen.transport.cli.pattern import Pattern
from limen.transport.cli.tools import ARGS, Tool
from limen.transport.cli.usage import Positional

__all__ = ["argv_of"]

MOST_WORD_BYTES: Final = 131_071
"""What Linux allows one word to be."""
MOST_BYTES: Final = 1_000_000
MOST_WORDS: Final = 10_000

_KEY: Final = Pattern(r"[A-Za-z0-9][\w.-]*")
_TRUTHS: Final = {"true": True, "false": False}


def argv_of(tool: Tool, arguments: Mapping[str, object]) -> list[str]:
    """The words after the program and its fixed arguments.

    Raises:
        InvalidArguments: a value cannot be a word, something required is missing, or a positional word would be
            taken for an option.
    """
    _check_required(tool, arguments)
    positionals = [word for key in tool.positionals for word in _words(key, arguments.get(key))]
    extra = arguments.get(ARGS)
    raw = _split(extra) if isinstance(extra, str) else []
    if not isinstance(extra, str):
        positionals += _words(ARGS, extra)
    options = [word for key, value in arguments.items() if _is_option(tool, key) for word in _option(tool, key, value)]
    words = [*tool.command.path, *options, *_guarded(tool, positionals), *raw]
    _check_words(words)
    return words


def _is_option(tool: Tool, key: str) -> bool:
    return key != ARGS and key not in tool.positionals


def _check_required(tool: Tool, arguments: Mapping[str, object]) -> None:
    given = {key.replace("-", "_") for key, value in arguments.items() if value is not None}
    missing = [key for key, flag in tool.flags.items() if flag.is_required and key not in given]
    if not arguments.get(ARGS):
        missing += [key for key, it in tool.positionals.items() if it.is_required and key not in given]
    if missing:
        raise InvalidArguments(f"{', '.join(missing)}: required by {tool.name}", field=missing[0])


def _option(tool: Tool, key: str, value: object) -> Iterator[str]:
    flag = _find_flag(tool, key)
    for item in value if is_array(value) else (value,):
        yield from _single(flag, key, item)


def _find_flag(tool: Tool, key: str) -> Flag:
    """The flag a key means: its property, another spelling of its name, or one that the help does not mention."""
    found = tool.flags.get(key) or tool.flags.get(key.replace("-", "_"))
    if found is not None:
        return found
    if not _KEY.fullmatch(key):
        raise InvalidArguments(f"{key!r} cannot be the name of an option", field=key)
    spellings = (f"-{key}",) if len(key) == 1 else (f"--{key.replace('_', '-')}", f"--{key}", f"-{key}")
    for flag in tool.flags.values():
        for name in spellings:
            if name in flag.names:
                return Flag(names=(name,), kind=flag.kind, takes_value=flag.takes_value)
            if name == flag.negation:
                return Flag(names=(name,))
    return Flag(names=spellings[:1], kind="string", takes_value=True, is_value_optional=True, joins_by_equals=True)


def _single(flag: Flag, key: str, value: object) -> Iterator[str]:
    name = flag.names[0]
    if value is None:
        return
    if flag.kind == "boolean" and isinstance(value, str):
        value = _TRUTHS.get(value.lower(), value)
    if value is True and (not flag.takes_value or flag.is_value_optional):
        yield name
    elif value is False:
        yield from _denial(flag)
    elif value == "" and flag.is_value_optional:
        yield name
    else:
        yield from _joined(flag, name, _text(key, value))


def _denial(flag: Flag) -> Iterator[str]:
    if flag.negation:
        yield flag.negation
    elif flag.kind == "boolean" and (flag.takes_value or flag.default == "true"):
        yield f"{flag.names[0]}=false"


def _joined(flag: Flag, name: str, text: str) -> Iterator[str]:
    needs_joining = flag.joins_by_equals or flag.is_value_optional or not flag.takes_value or text.startswith("-")
    if name.startswith("--") and needs_joining:
        yield f"{name}={text}"
    elif flag.is_value_optional and len(name) == 2:
        yield name + text
    else:
        yield from (name, text)


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    raise InvalidArguments(f"{key}: give text, a number, true, false, or a list of these", field=key)


def _words(key: str, value: object) -> list[str]:
    if value is None:
        return []
    return [_text(key, item) for item in (value if is_array(value) else (value,)) if item is not None]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe in a sentence is no quotation.
        return text.split()


def _guarded(tool: Tool, positionals: Sequence[str]) -> list[str]:
    """Positional words, behind `--` where one of them looks like an option; the caller's own `--` serves as well."""
    ahead = positionals[: positionals.index("--")] if "--" in positionals else positionals
    looks_like_option = next((word for word in ahead if word.startswith("-") and word != "-"), None)
    if looks_like_option is None:
        return [*positionals]
    if not tool.command.help.knows_dashes:
        raise InvalidArguments(
            f"{looks_like_option!r} would be taken for an option; give options by their own names, "
            f"or {ARGS} as one string",
            field=_field_of(tool.positionals, ahead, looks_like_option),
        )
    return ["--", *positionals]


def _field_of(named: Mapping[str, Positional], ahead: Sequence[str], word: str) -> str:
    keys = [*named]
    return keys[0] if keys and ahead[0] == word else ARGS


def _check_words(words: Sequence[str]) -> None:
    sizes = [_size(word) for word in words]
    if len(words) > MOST_WORDS or max(sizes, default=0) > MOST_WORD_BYTES or sum(sizes) > MOST_BYTES:
        raise InvalidArguments("the arguments are longer than a command line may be; give a file instead", field=ARGS)


def _size(word: str) -> int:
    if "\0" in word:
        raise InvalidArguments("a word of a command line cannot hold the NUL character", field=ARGS)
    try:
        return len(word.encode())
    except UnicodeEncodeError:
        raise InvalidArguments("a word of a command line must be valid Unicode", field=ARGS) from None
