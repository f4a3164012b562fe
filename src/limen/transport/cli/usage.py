"""The usage line of a program: its positional words, the options it insists on, the subcommands written into it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from limen.transport.cli.flags import Spec, read_spec
from limen.transport.cli.pattern import Pattern

__all__ = ["Positional", "Usage", "read_usage"]

MOST_FORM: Final = 4_000
_OPENERS: Final = {"[": "]", "(": ")", "<": ">", "{": "}"}
_CLOSERS: Final = frozenset(_OPENERS.values())
_ANY_OPTION: Final = Pattern(r"(?i)(?:\w+[ -])*(?:options?|flags?|opts|global-opts)(?:\.\.\.)?")
_ANY_COMMAND: Final = Pattern(r"(?i)(?:sub-?)?commands?")
_ANY_WORDS: Final = Pattern(r"(?i)arg(?:ument)?s?|command[-_ ]args?")
_NAME: Final = Pattern(r"[^\W\d_][\w .:/-]*")
_SHORT_WITH_VALUE: Final = Pattern(r"(-[A-Za-z0-9]) (?!-)(\S.*)")
_CLUSTER: Final = Pattern(r"-([A-Za-z0-9?]{2,})")


class Positional(Struct, frozen=True):
    """A word that is told by its place."""

    name: str
    is_required: bool = True
    repeats: bool = False
    choices: tuple[str, ...] = ()
    description: str = ""


class Usage(Struct, frozen=True):
    """What the usage lines tell."""

    forms: tuple[str, ...] = ()
    positionals: tuple[Positional, ...] = ()
    subcommands: tuple[str, ...] = ()
    """Written out in the usage itself, as `{add,remove} ...`."""
    required: frozenset[str] = frozenset()
    """Names of options that every call must give."""
    specs: tuple[Spec, ...] = ()
    """Options as the usage writes them, for programs that list them nowhere else."""
    has_dashes: bool = False
    """Whether it shows the `--` that ends the options."""
    runs_alone: bool = False
    """Whether a form without a subcommand stands beside others, or is all there is and insists on something."""


class _Token(Struct):
    text: str
    repeats: bool = False


class _Form(Struct):
    """One form while it is read."""

    positionals: list[Positional] = []
    subcommands: list[str] = []
    required: list[str] = []
    specs: list[Spec] = []
    has_dashes: bool = False
    wants_command: bool = False
    is_involved: bool = False
    """Alternatives between positional words: these cannot be told by their place."""


def read_usage(forms: Sequence[str], path: Sequence[str] = ()) -> Usage:
    """Read each form of the usage; with several, only what holds for all of them is insisted on."""
    read = [_read_form(_arguments(form, path)) for form in forms]
    is_single = len(read) == 1 and not read[0].is_involved
    return Usage(
        forms=tuple(forms),
        positionals=tuple(_unique(read[0].positionals)) if is_single else (),
        subcommands=tuple(dict.fromkeys(name for form in read for name in form.subcommands)),
        required=frozenset(read[0].required) if len(read) == 1 else frozenset(),
        specs=tuple(spec for form in read for spec in form.specs),
        has_dashes=any(form.has_dashes for form in read),
        runs_alone=any(map(_is_plain, read)) if any(it.wants_command for it in read) else any(map(_insists, read)),
    )


def _is_plain(form: _Form) -> bool:
    return not (form.wants_command or form.positionals or form.required or form.is_involved)


def _insists(form: _Form) -> bool:
    return bool(form.required) or any(it.is_required for it in form.positionals)


def _arguments(form: str, path: Sequence[str]) -> list[_Token]:
    """What follows the program and its subcommands."""
    tokens = list(_tokens(form[:MOST_FORM]))
    start = 3 if len(tokens) > 2 and tokens[1].text == "-m" else 1
    for word in path:
        ahead = [token.text for token in tokens[start : start + 4]]
        if word in ahead:
            start += ahead.index(word) + 1
    return tokens[start:]


def _tokens(text: str) -> Iterator[_Token]:
    """Words, and whatever stands in brackets as one word; an ellipsis belongs to the word before it."""
    held: _Token | None = None
    for word in _words(text):
        if word in ("...", "…", "[...]"):
            if held is not None:
                held.repeats = True
            continue
        if held is not None:
            yield held
        bare = word.removesuffix("...").removesuffix("…")
        held = _Token(bare, repeats=bare != word)
    if held is not None:
        yield held


def _words(text: str) -> Iterator[str]:
    depth, word = 0, ""
    for letter in text:
        if letter.isspace() and depth == 0:
            if word:
                yield word
            word = ""
            continue
        if letter in _OPENERS:
            depth += 1
        elif letter in _CLOSERS:
            depth = max(0, depth - 1)
        word += letter
    if word.strip():
        yield word.strip()


def _read_form(tokens: Sequence[_Token], *, is_optional: bool = False, depth: int = 0) -> _Form:
    form, at = _Form(), 0
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        at += 1
        if token.text == "--":
            form.has_dashes = True
        elif token.text.startswith("-"):
            at += _read_option(token.text, following, form, is_optional=is_optional)
        elif token.text.startswith("["):
            _read_optional(token, form, depth)
        elif token.text.startswith("{"):
            _read_braces(token, form, is_optional=is_optional)
        elif token.text.startswith("(") or token.text == "|":
            form.is_involved = True
        else:
            _read_word(token, form, is_optional=is_optional)
    return form


def _read_option(text: str, following: str, form: _Form, *, is_optional: bool) -> int:
    """Note an option; how many more words belong to it."""
    is_value = bool(following) and not following.startswith(("-", "[", "|", "("))
    spec = read_spec(f"{text} {following}" if is_value else text)
    if spec is None:
        return 0
    form.specs.append(spec)
    if not is_optional:
        form.required.extend(spec.names)
    return 1 if is_value else 0


def _read_optional(token: _Token, form: _Form, depth: int) -> None:
    inside = token.text[1:].removesuffix("]").strip()
    cluster = _CLUSTER.fullmatch(inside)
    if _ANY_OPTION.fullmatch(inside.strip("<>")):
        return
    if cluster is not None and len(set(cluster[1])) == len(cluster[1]):
        form.specs.extend(Spec(names=[f"-{letter}"]) for letter in cluster[1])
        return
    if inside.startswith("-") and inside != "--" and not inside.startswith("--]"):
        _read_alternatives(inside, form)
        return
    if depth > 8:
        form.is_involved = True
        return
    inner = _read_form([*_tokens(inside)], is_optional=True, depth=depth + 1)
    form.has_dashes = form.has_dashes or inner.has_dashes
    form.is_involved = form.is_involved or inner.is_involved
    form.wants_command = form.wants_command or inner.wants_command
    form.subcommands.extend(inner.subcommands)
    form.specs.extend(inner.specs)
    form.positionals.extend(
        Positional(found.name, is_required=False, repeats=found.repeats or token.repeats, choices=found.choices)
        for found in inner.positionals
    )


def _read_alternatives(inside: str, form: _Form) -> None:
    """`-v | --verbose`, `--mirror=<fetch|push>`, `-m message`: names of one option, or of several."""
    previous: Spec | None = None
    for part in re.split(r"\s*\|\s*(?=-)", inside):
        valued = _SHORT_WITH_VALUE.fullmatch(part)
        spec = Spec(names=[valued[1]], hint=valued[2]) if valued is not None else read_spec(part)
        if spec is None or spec.description:
            previous = None
        elif previous is not None and len(previous.names[-1]) == 2 and spec.names[0].startswith("--"):
            # A letter and the word after it are one option; two words are two.
            previous.names.extend(spec.names)
            previous.hint = previous.hint or spec.hint
            previous = None
        else:
            form.specs.append(spec)
            previous = spec


def _read_braces(token: _Token, form: _Form, *, is_optional: bool) -> None:
    names = tuple(name.strip() for name in re.split(r"[,|]", token.text.strip("{}")) if name.strip())
    if token.repeats:
        form.subcommands.extend(names)
        form.wants_command = True
    elif len(names) == 1:
        form.positionals.append(Positional(_plain_name(names[0]), not is_optional))
    elif names:
        form.positionals.append(Positional("choice", not is_optional, choices=names))


def _read_word(token: _Token, form: _Form, *, is_optional: bool) -> None:
    bare = token.text.strip("<>").strip()
    if _ANY_COMMAND.fullmatch(bare):
        form.wants_command = True
        # Whatever it is that follows, the subcommand says it.
    elif "|" in bare:
        form.is_involved = True
    elif _NAME.fullmatch(bare) and not _ANY_WORDS.fullmatch(bare) and not _ANY_OPTION.fullmatch(bare):
        form.positionals.append(Positional(_plain_name(bare), not is_optional, token.repeats))


def _plain_name(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _unique(positionals: Sequence[Positional]) -> Iterator[Positional]:
    names = [positional.name for positional in positionals]
    for at, positional in enumerate(positionals):
        if positional.name and positional.name not in names[:at]:
            repeats = positional.repeats or positional.name in names[at + 1 :]
            yield Positional(positional.name, positional.is_required, repeats, positional.choices)
