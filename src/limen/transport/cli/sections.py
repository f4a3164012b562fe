"""Cuts a help text at its headings, and finds the usage lines. Refuses to read what is under a heading."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from limen.transport.cli.pattern import Pattern
from limen.transport.cli.plaintext import Line

__all__ = ["Section", "read_sections"]

MOST_TITLE: Final = 90
MOST_FORM: Final = 4_000
MOST_FORMS: Final = 100
_USAGE: Final = Pattern(r"(?i)(?:usage|synopsis)(?: of (\S+?))?(?::\s*|$)(.*)")
_COMMANDS: Final = Pattern(r"(?i)\b(?:sub)?-?commands?\b")
_EXAMPLES: Final = Pattern(r"(?i)\b(?:examples?|see also)\b")
_ARGUMENTS: Final = Pattern(r"(?i)\b(?:positional(?:s| arguments)?|arguments|args)\b")
_COLUMN: Final = Pattern(r"\s{2,}")
_TITLELESS_USAGE: Final = Pattern(r"[\w./-]+ (?:\S+ )*\[(?:OPTIONS?|options?|flags)\b.*")
_OTHER_FORM: Final = Pattern(r"(?i)^(?:or|oder|ou|o|или)\s*:\s*")


class Section(Struct):
    """A heading and the lines under it."""

    title: str = ""
    lines: list[Line] = field(default_factory=list[Line])
    usage_forms: list[str] = field(default_factory=list[str])
    prose: list[Line] = field(default_factory=list[Line])
    """Lines that are not part of the usage."""
    is_usage: bool = False

    @property
    def is_about_commands(self) -> bool:
        """Whether it lists subcommands."""
        return bool(_COMMANDS.search(self.title)) and not self.is_about_examples and not self.is_usage

    @property
    def is_about_examples(self) -> bool:
        """Whether it shows calls that nobody should take for definitions."""
        return bool(_EXAMPLES.search(self.title)) and not _COMMANDS.search(self.title)

    @property
    def is_about_arguments(self) -> bool:
        """Whether it explains positional words."""
        return bool(_ARGUMENTS.search(self.title))

    @property
    def is_about_name(self) -> bool:
        """Whether it is the NAME section of a manual."""
        return self.title.upper() == "NAME"

    @property
    def is_about_description(self) -> bool:
        """Whether it describes in sentences."""
        return self.title.lower() == "description"


def read_sections(lines: Sequence[Line]) -> list[Section]:
    """The sections of a help text, the first of them without a title."""
    sections = [Section()]
    for at, line in enumerate(lines):
        following = next((later for later in lines[at + 1 : at + 4] if later.text), Line(0, ""))
        usage = _USAGE.fullmatch(line.text) if line.indent <= 1 and not sections[-1].is_about_examples else None
        if usage is not None:
            sections.append(Section(title="usage", is_usage=True))
            if usage[1]:
                # Go's way: the name alone, and the options right below it.
                sections[-1].lines += [Line(line.indent, usage[1]), Line(0, "")]
            elif usage[2]:
                sections[-1].lines.append(Line(line.indent, usage[2]))
        elif len(sections) == 1 and not _has_text(sections[0]) and _TITLELESS_USAGE.fullmatch(line.text):
            sections.append(Section(title="usage", lines=[line], is_usage=True))
        elif _is_heading(line, following, sections[-1]):
            sections.append(Section(title=line.text.strip(" :")))
        else:
            sections[-1].lines.append(line)
    for section in sections:
        _divide(section)
    return sections


def _has_text(section: Section) -> bool:
    return any(line.text for line in section.lines)


def _is_heading(line: Line, following: Line, under: Section) -> bool:
    text = line.text
    if not text or line.indent > 2 or len(text) > MOST_TITLE or text.startswith("-"):
        return False
    if text.endswith(":"):
        is_over = following.text != "" and (line.indent == 0 or following.indent > line.indent)
        return "  " not in text and not text.startswith(("or:", "e.g")) and is_over
    if line.indent > 0 or "  " in text:
        return False
    is_capitals = text.isupper() and len(text) > 3 and not text.startswith(("[", "<", "{"))
    is_listing = _COMMANDS.search(text) is not None and text[-1] not in ".,;" and len(text.split()) <= 12
    if under.is_usage and under.lines and under.lines[-1].text:
        return is_capitals
    return is_capitals or (is_listing and _is_entry(following))


def _is_entry(line: Line) -> bool:
    return "  " in line.text and not line.text.startswith("-")


def _divide(section: Section) -> None:
    """Tell the usage forms from the prose that follows them."""
    if not section.is_usage:
        section.prose = section.lines
        return
    forms: list[str] = []
    ended = next((at for at, line in enumerate(section.lines) if not _add_form(line, forms)), len(section.lines))
    section.usage_forms = forms
    section.prose = section.lines[ended:]


def _add_form(line: Line, forms: list[str]) -> bool:
    """Take one line into the forms; False when the usage ended before it."""
    if not line.text:
        return not forms
    text = _OTHER_FORM.sub("", line.text)
    # Two spaces begin a column of explanations, which is no part of the usage.
    words = _COLUMN.split(text, 1)[0]
    if len(forms) > MOST_FORMS or (forms and len(forms[-1]) > MOST_FORM):
        return False
    if not words.strip():
        return True
    if not forms or text != line.text or words.split()[0] == forms[0].split()[0]:
        forms.append(words)
        return True
    is_more = line.indent > 0 or text.startswith("[")
    if not is_more or (text.startswith("-") and words != text):
        return False
    forms[-1] = f"{forms[-1]} {words}"
    return True
