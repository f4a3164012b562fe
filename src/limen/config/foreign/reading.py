"""The text of another program's file in, its servers out: recognised, converted, named. Touches no file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from msgspec import Struct, field

from limen.config.document import BadText
from limen.config.foreign.converting import Refused, Setting, convert
from limen.config.foreign.formats import ANY, FORMATS, Format, guess_syntax, recognise
from limen.config.foreign.naming import fit_name
from limen.config.foreign.records import Found, LeftOut, Reading
from limen.config.foreign.secrets import SecretNames
from limen.config.syntax import read_plain
from limen.errors import ConfigInvalid
from limen.shapes import is_array, is_object

__all__ = ["Circumstances", "read_foreign"]


class Circumstances(Struct, frozen=True, kw_only=True):
    """What a text alone does not tell."""

    format: str | None = None
    """The name of the format, when it is known."""
    project: Path | None = None
    """The folder of the project that the file belongs to."""
    here: Path | None = None
    """The project one works in: of files with many projects, only its servers are read; of all without it."""
    own_port: int | None = None
    secrets: SecretNames = field(default_factory=SecretNames)


class _Section(Struct, frozen=True):
    entries: object
    folder: Path | None


def read_foreign(text: str, file: PurePath, given: Circumstances | None = None) -> Reading:
    """Every server that a file holds.

    Raises:
        ConfigInvalid: it cannot be read, or is no file with servers; the message tells the place.
    """
    given = given or Circumstances()
    known = FORMATS[given.format] if given.format else None
    data = _read(text, file, known)
    layout = known or recognise(data, file)
    if data is None or (layout is None and data == {}):
        return Reading(str(file), given.format or "", notes=("it is empty",))
    if layout is None or not is_object(data):
        raise ConfigInvalid(
            f"{file}: no servers of any known format are in it",
            fix="name a file that has them, or say whose it is with --from",
            file=str(file),
        )
    return _read_sections(data, file, layout, given)


def _read(text: str, file: PurePath, known: Format | None) -> object:
    syntax = guess_syntax(file, text)
    if known is not None and known.syntax != syntax and not file.suffix:
        syntax = known.syntax
    try:
        return read_plain(text, syntax)
    except BadText as error:
        place = f"{file}:{error.at.line}:{error.at.column}"
        raise ConfigInvalid(f"{place}: {error}", fix=error.fix, file=str(file), line=error.at.line) from error


def _read_sections(data: Mapping[str, object], file: PurePath, layout: Format, given: Circumstances) -> Reading:
    found: list[Found] = []
    left_out: list[LeftOut] = []
    notes = [f"`{path}` is left out: {why}" for path, why in layout.left_out.items() if _dig(data, path.split("."))]
    off = _switched_off(data, layout, given.here)
    sections = [section for path in layout.sections for section in _walk(data, path)]
    elsewhere = [section for section in sections if not _is_here(section, given.here)]
    for section in (section for section in sections if section not in elsewhere):
        setting = Setting(layout, section.folder or given.project, given.own_port, given.secrets)
        for name, raw in _named(section.entries):
            try:
                found.append(_found(name, raw, setting, is_off=name in off))
            except Refused as error:
                left_out.append(LeftOut(name, str(error), error.is_limen))
        if not is_object(section.entries) and not is_array(section.entries):
            notes.append("where its servers should be is neither a mapping nor a list")
    if not sections:
        notes.append(f"it has no `{'.'.join(layout.sections[0])}`")
    count = sum(len(list(_named(section.entries))) for section in elsewhere)
    if count:
        notes.append(f"{count} more in other projects; --all reads them too")
    return Reading(str(file), layout.name, tuple(found), tuple(left_out), tuple(notes))


def _found(name: str, raw: object, setting: Setting, *, is_off: bool) -> Found:
    fitting = fit_name(name)
    entry, notes = convert(fitting, raw, setting)
    if is_off:
        entry["enabled"] = False
    if fitting != name:
        notes = [f"it was called `{name[:60]}`, which is no name for a server here", *notes]
    return Found(fitting, entry, tuple(notes))


def _switched_off(data: object, layout: Format, here: Path | None) -> set[str]:
    """The names of servers that are off; what another project says about them does not count."""
    lists = [each for path in layout.off_lists for each in _walk(data, path)]
    near = [each for each in lists if each.folder is None or (here is not None and _is_here(each, here))]
    return {str(name) for each in near for name in _items(each.entries)}


def _walk(data: object, path: Sequence[str], folder: Path | None = None) -> Iterator[_Section]:
    """What stands at the end of a path; under a `*`, the keys are folders of projects."""
    if not path:
        if data is not None:
            yield _Section(data, folder)
        return
    if not is_object(data):
        return
    if path[0] == ANY:
        for key, value in data.items():
            yield from _walk(value, path[1:], Path(key))
    elif path[0] in data:
        yield from _walk(data[path[0]], path[1:], folder)


def _is_here(section: _Section, here: Path | None) -> bool:
    return here is None or section.folder is None or here == section.folder


def _named(entries: object) -> Iterator[tuple[str, object]]:
    if is_object(entries):
        yield from ((str(name), value) for name, value in entries.items())
    for number, value in enumerate(_items(entries), 1):
        name = value.get("name") if is_object(value) else None
        yield (name if isinstance(name, str) and name else f"server-{number}"), value


def _items(value: object) -> Sequence[object]:
    return value if is_array(value) else ()


def _dig(data: object, keys: Sequence[str]) -> object:
    for key in keys:
        data = data.get(key) if is_object(data) else None
    return data
