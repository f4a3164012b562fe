"""The help text of one command, read into subcommands, options and positional words. Pure, and never at a loss.

Every style is read by the same few rules: sections have headings, entries have a left and a right column, what is
indented deeper belongs to the entry above. What follows none of them is left out; no text is an error.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from limen.transport.cli.flags import Flag, Spec, flag_of, read_spec
from limen.transport.cli.listing import Subcommand, read_commands
from limen.transport.cli.pattern import Pattern
from limen.transport.cli.plaintext import Line, plain_lines
from limen.transport.cli.sections import Section, read_sections
from limen.transport.cli.usage import Positional, read_usage

__all__ = ["Flag", "Help", "Positional", "Subcommand", "read_help"]

MOST_FLAGS: Final = 250
_ENTRY: Final = Pattern(r"[<\[]?([^\W\d][\w.-]*)[>\]]?(?:\.\.\.)?(?: {2,}\S+(?= {2}))? {2,}(\S.*)")

_NO_SUMMARY: Final = Pattern(
    r"(?i)^(?:\S+ )?v?\d+\.\d+|\b(?:unknown|unrecognized|invalid|illegal) (?:option|flag|arg)|^\S+ <"
)


class Help(Struct, frozen=True):
    """What a help text says of one command."""

    summary: str = ""
    usage: tuple[str, ...] = ()
    subcommands: tuple[Subcommand, ...] = ()
    flags: tuple[Flag, ...] = ()
    positionals: tuple[Positional, ...] = ()
    knows_dashes: bool = False
    """Whether `--` ends the options, so that what follows it is taken literally."""
    runs_alone: bool = False
    """Whether the command does something without any of its subcommands."""


NO_HELP: Final = Help()


def read_help(text: str, path: Sequence[str] = ()) -> Help:
    """Read a help text; `path` is the subcommand it is the help of."""
    lines = plain_lines(text)
    sections = read_sections(lines)
    usage = read_usage([form for section in sections for form in section.usage_forms], path)
    asides = [line.text for section in sections for line in section.prose if line.text.startswith("[-")]
    specs = (*usage.specs, *read_usage([f"_ {' '.join(asides)}"]).specs) if asides else usage.specs
    flags = tuple(_flags(sections, specs, usage.required))
    subcommands = read_commands(sections, usage.subcommands)
    listed = {it.name for it in subcommands}
    return Help(
        summary=_summary(sections),
        usage=usage.forms,
        subcommands=subcommands,
        flags=_merged(flags)[:MOST_FLAGS],
        positionals=tuple(_described(usage.positionals, sections)),
        knows_dashes=usage.has_dashes or _knows_dashes(flags, lines),
        runs_alone=usage.runs_alone and not any(_names_command(form, listed) for form in usage.forms),
    )


def _names_command(form: str, listed: set[str]) -> bool:
    """Whether a form shows one of the subcommands at work, which says nothing of the command without them."""
    return not listed.isdisjoint(form.split())


def _flags(sections: Sequence[Section], in_usage: Sequence[Spec], required: frozenset[str]) -> Iterator[Flag]:
    """The options that are listed, and those that only the usage shows; it may also know values the list omits."""
    valued = {name: spec for spec in in_usage if spec.hint for name in spec.names}
    seen: set[str] = set()
    for section in sections:
        if not section.is_about_examples:
            for spec, description in _listed(section.prose):
                fuller = next((valued[name] for name in spec.names if name in valued), None)
                if fuller is not None and not spec.hint:
                    spec.hint, spec.is_optional = fuller.hint, fuller.is_optional
                seen.update(spec.names)
                yield flag_of(spec, description, is_required=not required.isdisjoint(spec.names))
    for spec in in_usage:
        if seen.isdisjoint({*spec.names, spec.negation}):
            seen.update(spec.names)
            yield flag_of(spec, "", is_required=not required.isdisjoint(spec.names))


def _listed(lines: Sequence[Line]) -> Iterator[tuple[Spec, str]]:
    """Each line that begins with a dash left of the column of descriptions is an option; the rest explains it."""
    spec: Spec | None = None
    words: list[str] = []
    indent, column = 0, 0
    for line in lines:
        is_inside = spec is not None and line.indent >= column > 0
        found = read_spec(line.text) if line.text.startswith("-") and not is_inside else None
        if found is not None:
            if spec is not None:
                yield spec, " ".join(words)
            spec, words, indent = found, [found.description] if found.description else [], line.indent
            column = line.indent + found.column if found.column else 0
        elif spec is not None and line.text:
            if line.indent <= indent:
                yield spec, " ".join(words)
                spec, column = None, 0
            else:
                column = column or line.indent
                words.append(line.text)
    if spec is not None:
        yield spec, " ".join(words)


def _merged(flags: Sequence[Flag]) -> tuple[Flag, ...]:
    """Every option once, with its opposite beside it, and without those that only print help or a version."""
    opposites = {name for flag in flags for name in flag.names if name.startswith("--no-") and not flag.takes_value}
    found: dict[str, Flag] = {}
    for flag in flags:
        opposite = f"--no-{flag.name}"
        if flag.kind == "boolean" and not flag.negation and opposite in opposites:
            flag = replace(flag, negation=opposite)
        if not _is_about_itself(flag):
            found.setdefault(flag.names[0], flag)
    negated = {flag.negation for flag in found.values()}
    return tuple(flag for flag in found.values() if flag.names[0] not in negated)


def _is_about_itself(flag: Flag) -> bool:
    return flag.name in ("help", "h", "?") or (flag.name in ("version", "V") and not flag.takes_value)


def _knows_dashes(flags: Sequence[Flag], lines: Sequence[Line]) -> bool:
    """Parsers of long options know `--`, and Go's; programs with options like `-name` mostly do not."""
    for flag in flags:
        is_long = any(name.startswith("--") for name in flag.names)
        if is_long and (not _is_about_itself(flag) or "-h" in flag.names):
            return True
    return any(line.text.startswith("Usage of ") or line.text.startswith("--  ") for line in lines)


def _described(positionals: Sequence[Positional], sections: Sequence[Section]) -> Iterator[Positional]:
    told = {
        entry[1].lower().replace("-", "_"): entry[2].replace("[required]", "").strip()
        for section in sections
        if section.is_about_arguments
        for line in section.lines
        if (entry := _ENTRY.match(line.text)) is not None
    }
    for positional in positionals:
        yield replace(positional, description=told.get(positional.name, ""))


def _summary(sections: Sequence[Section]) -> str:
    """The first words that are neither a heading nor an entry."""
    for section in sections:
        if section.is_about_name:
            return section.lines[0].text.split(" - ", 1)[-1] if section.lines else ""
    for section in sections:
        if section.title and not section.is_usage and not section.is_about_description:
            continue
        paragraph = _first_paragraph(section.prose)
        if paragraph and not _NO_SUMMARY.search(paragraph):
            return paragraph
    return ""


def _first_paragraph(lines: Sequence[Line]) -> str:
    words: list[str] = []
    for line in lines:
        if line.text.startswith(("-", "[")) or (words and not line.text):
            break
        if line.text:
            words.append(line.text)
    return " ".join(words)
