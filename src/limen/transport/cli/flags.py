"""One line of a list of options: its names, the value it wants, what is said of it. Reads only what is written."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from limen.transport.cli.pattern import Pattern

__all__ = ["Flag", "Kind", "Spec", "flag_of", "kind_of", "read_choices", "read_spec"]

MOST_DESCRIPTION: Final = 4_000

Kind = Literal["boolean", "integer", "number", "string"]

_NAME: Final = Pattern(r"--\[no-\][^\W_][\w.-]*|--?[^\W_][\w.+-]*(?<![.-])|-[?#@]|-[0-9](?=[\s,]|$)")
_ANONYMOUS: Final = Pattern(r"-(?:<[^<>]*>|NUM)")
_ATTACHED: Final = Pattern(r"\[=?([^\]]*)\]|=(<[^<>]*>|\{[^{}]*\}|[^\s,]+)|(<[^<>]*>)")
_BRACKETED: Final = Pattern(
    r" {1,2}(\[?<[^<>]*>(?:[=:,]<[^<>]*>)*\]?|\{[^{}]*\}|\[(?!default|required|env)[^\[\]]*\])(\.\.\.)?"
)
_BARE: Final = Pattern(r" ([^\s,<\[{(|/-][^\s,]*(?: [^\s,-][^\s,]*){0,2})(?=\s{2}|$|,|:$| : )")
_NEXT_NAME: Final = Pattern(r"(?:\s*,\s*|\s*\|\s*|\s+/\s+|\s+or\s+)(?=-)|(?<=[\s,|]-\w) +(?=--\w)|(?<=^-\w) +(?=--\w)")
_COLUMN_NAME: Final = Pattern(r"\s{2,}(?=--?[^\W_][\w-]*(?:\s{2}|$))")
_COLUMN_TYPE: Final = Pattern(
    r"\s{2,}((?:TEXT|INTEGER|FLOAT|PATH|FILE|FILENAME|DIRECTORY|BOOLEAN|UUID|DATETIME)"
    r"(?: RANGE)?(?: ?\[[^\[\]]*\])?|\[[^\[\]]*\|[^\[\]]*\]|<\w[^<>]*>)(?=\s{2}|$)"
)

_OUTER: Final = Pattern(r"^([\[{]?)=?([^\[\]{}]*)[\]}]?$")
_INTEGERS: Final = Pattern(r"u?int(?:eger)?(?:8|16|32|64)?|n|num|number|count|integer range.*")
_NUMBERS: Final = Pattern(r"float(?:32|64)?|double|decimal|float range.*")
_LISTS: Final = Pattern(r"list|map|strings|ints|stringarray|stringslice|stringtostring|intslice|\[\]")
_REPEATS: Final = Pattern(
    r"(?i)\b(?:multiple times|more than once|(?:can|may) be (?:repeated|(?:specified|given) multiple)|repeatable)\b"
)
_DEFAULT: Final = Pattern(
    r"(?i)[\[(](?:[^\[\]()]*; )?default(?:s to)?[:= ] ?(\"[^\"]*\"|'[^']*'|[^\s\])\[(;,]+)[;, \])]"
)
_REQUIRED: Final = Pattern(r"(?i)[\[(](?:[^\[\]()]*; )?required(?:;[^\[\]()]*)?[\])]")
_POSSIBLE: Final = Pattern(r"(?i)\[possible values: ([^\]]*)\]")
_BRACED: Final = Pattern(r"\{([^\s{}]*\|[^\s{}]*)\}")
_LISTED: Final = Pattern(r"(?i)\bpossible values: (?=- )(.*)")
_LISTED_ITEM: Final = Pattern(r"(?:^|\s)- ([\w.+-]+):?(?=\s|$)")
_CHOICE: Final = Pattern(r"[\w.+:/-]+")


class Flag(Struct, frozen=True):
    """One option of a program."""

    names: tuple[str, ...]
    """With their dashes, the one to use first."""
    kind: Kind = "boolean"
    takes_value: bool = False
    is_value_optional: bool = False
    joins_by_equals: bool = False
    """Whether the help writes `--name=VALUE`."""
    negation: str = ""
    """The name that says the opposite, where there is one."""
    hint: str = ""
    repeats: bool = False
    is_required: bool = False
    choices: tuple[str, ...] = ()
    default: str | None = None
    description: str = ""

    @property
    def name(self) -> str:
        """The name to use, without dashes."""
        return self.names[0].lstrip("-")


class Spec(Struct):
    """The left column of an option, as written, and the words right of it."""

    names: list[str] = []
    negation: str = ""
    hint: str = ""
    is_optional: bool = False
    joins_by_equals: bool = False
    repeats: bool = False
    is_defaulted: bool = False
    """Written as `--name=default:` with the description below."""
    description: str = ""
    column: int = 0
    """Where the description begins, counted from the first dash; 0 when it is not on this line."""


def read_spec(text: str) -> Spec | None:
    """The option a line defines; None when it defines none."""
    spec, at = Spec(), 0
    while True:
        at = _read_name(text, at, spec)
        if at < 0:
            return None
        following = _NEXT_NAME.match(text, at) or _COLUMN_NAME.match(text, at)
        if following is None or not _starts_name(text, following.end()):
            break
        at = following.end()
    if not spec.names:
        return None
    return _read_rest(text, at, spec)


def _starts_name(text: str, at: int) -> bool:
    return bool(_NAME.match(text, at) or _ANONYMOUS.match(text, at))


def _read_name(text: str, at: int, spec: Spec) -> int:
    """Read one name with its value; where it ends, or -1 when there is none."""
    anonymous = _ANONYMOUS.match(text, at)
    if anonymous is not None:
        return anonymous.end()
    found = _NAME.match(text, at)
    if found is None:
        return -1
    _note_name(found[0], spec)
    at = found.end()
    if text.startswith("...", at):
        spec.repeats = True
        at += 3
    attached = _ATTACHED.match(text, at)
    if attached is not None:
        spec.is_optional = attached[1] is not None
        spec.joins_by_equals = spec.joins_by_equals or "=" in attached[0][:2]
        spec.hint = spec.hint or (attached[1] or attached[2] or attached[3] or "VALUE")
        return _read_more(text, attached.end(), spec)
    return _read_spaced(text, at, spec)


def _read_spaced(text: str, at: int, spec: Spec) -> int:
    """A value written after a space: in brackets always, in bare words only where a column or the line ends."""
    bracketed = _BRACKETED.match(text, at)
    if bracketed is not None:
        hint = bracketed[1]
        spec.is_optional = spec.is_optional or (hint.startswith("[<") and hint.endswith("]"))
        spec.repeats = spec.repeats or bracketed[2] is not None
        spec.hint = spec.hint or hint
        return _read_more(text, bracketed.end(), spec)
    bare = _BARE.match(text, at)
    if bare is None:
        return at
    words = bare[1]
    if " " in words and not text[bare.end() : bare.end() + 2].isspace():
        # Several words that reach to the end of the line are a description.
        return at
    spec.hint = spec.hint or words.rstrip(":")
    return bare.end()


def _read_more(text: str, at: int, spec: Spec) -> int:
    while (more := _BRACKETED.match(text, at)) is not None and not text[at:].startswith("  "):
        spec.repeats = spec.repeats or more[2] is not None or more[1].startswith("[")
        at = more.end()
    if text.startswith("...", at):
        spec.repeats = True
        at += 3
    return at


def _note_name(name: str, spec: Spec) -> None:
    if name.startswith("--[no-]"):
        stem = name.removeprefix("--[no-]")
        spec.names.append(f"--{stem}")
        spec.negation = spec.negation or f"--no-{stem}"
    elif name.startswith("--no-") and f"--{name[5:]}" in spec.names:
        spec.negation = spec.negation or name
    elif (opposite := f"--no-{name.lstrip('-')}") in spec.names:
        spec.names[spec.names.index(opposite)] = name
        spec.negation = spec.negation or opposite
    elif name not in spec.names:
        spec.names.append(name)


def _read_rest(text: str, at: int, spec: Spec) -> Spec | None:
    typed = _COLUMN_TYPE.match(text, at) if not spec.hint else None
    if typed is not None:
        spec.hint, at = typed[1], typed.end()
    rest = text[at:]
    if spec.joins_by_equals and (rest == ":" or (not rest and spec.hint.endswith(":"))):
        spec.hint, spec.is_defaulted = spec.hint.rstrip(":"), True
        return spec
    if rest and not rest[0].isspace() and rest[0] != ":":
        return None
    is_column = rest.startswith((" ", ":")) and (len(rest) - len(rest.lstrip(" :")) > 1 or bool(spec.hint))
    if rest and not is_column and any(_is_long_with_one_dash(name) for name in spec.names):
        # Prose may begin a line with a broken word; a lone space is no proof of a column.
        return None
    spec.description = rest.lstrip(" :")
    spec.column = len(text) - len(spec.description) if spec.description else 0
    return spec


def _is_long_with_one_dash(name: str) -> bool:
    return len(name) > 2 and not name.startswith("--")


def flag_of(spec: Spec, description: str, *, is_required: bool = False) -> Flag:
    """The option, once all that is said of it has been read."""
    description = description[:MOST_DESCRIPTION]
    hint = _OUTER.sub(r"\2", re.sub(r"[<>]|\.\.\.", "", spec.hint))
    default = _read_default(spec, description)
    kind = _kind_of_flag(spec, hint, default)
    choices = read_choices(spec.hint, description) if hint and kind == "string" and not spec.is_defaulted else ()
    repeats = bool(spec.hint) and (
        spec.repeats or bool(_LISTS.fullmatch(spec.hint.lower())) or bool(_REPEATS.search(description))
    )
    return Flag(
        names=_preferred(spec.names),
        kind=kind,
        takes_value=bool(spec.hint),
        is_value_optional=spec.is_optional or (kind == "boolean" and bool(spec.hint)),
        joins_by_equals=spec.joins_by_equals,
        negation=spec.negation,
        hint="" if spec.is_defaulted or kind == "boolean" else hint,
        repeats=repeats and kind != "boolean",
        is_required=is_required or bool(_REQUIRED.search(description)),
        choices=choices,
        default=default,
        description=description,
    )


def _preferred(names: Sequence[str]) -> tuple[str, ...]:
    """Long names before short ones: they say what they do, and join their value with an equals sign."""
    return tuple(sorted(names, key=lambda name: not name.startswith("--")))


def _kind_of_flag(spec: Spec, hint: str, default: str | None) -> Kind:
    if not spec.hint:
        return "boolean"
    if not spec.is_defaulted:
        return kind_of(hint)
    if default in ("true", "false"):
        return "boolean"
    return "integer" if default is not None and re.fullmatch(r"-?\d{1,18}", default) else "string"


def kind_of(hint: str) -> Kind:
    """The type that a value hint names."""
    word = hint.lower()
    if _INTEGERS.fullmatch(word):
        return "integer"
    if _NUMBERS.fullmatch(word):
        return "number"
    return "boolean" if word in ("bool", "boolean", "true|false") else "string"


def _read_default(spec: Spec, description: str) -> str | None:
    if spec.is_defaulted:
        value = spec.hint.strip("'\"")
        return value if value not in ("", "[]") else None
    found = _DEFAULT.search(description)
    if found is None or found[1] in ("None", "[]", "map[]"):
        return None
    return found[1].strip("\"'").rstrip(".")


def read_choices(hint: str, description: str) -> tuple[str, ...]:
    """The values that are allowed, where the help names every one."""
    bare = hint.strip("[](){}")
    # What stands in angle brackets may as well be the names of values: a wrong list would forbid the right one.
    if hint[:1] in ("[", "{", "(") and re.search(r"\||^[^\s,]+,", bare):
        found = re.split(r"[|,]", bare)
    elif (possible := _POSSIBLE.search(description)) is not None:
        found = possible[1].split(",")
    elif (listed := _LISTED.search(description)) is not None:
        found = _LISTED_ITEM.findall(listed[1])
    elif (braced := _BRACED.search(description)) is not None:
        found = braced[1].split("|")
    else:
        return ()
    choices = tuple(dict.fromkeys(choice.strip() for choice in found))
    is_closed = len(choices) > 1 and all(_CHOICE.fullmatch(choice) and "..." not in choice for choice in choices)
    return choices if is_closed else ()
