"""Text in, settings and everything wrong with them out. Touches no file, and never raises for what a text says."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field, inspect, structs

from limen.config.decode import Decoder, Origin
from limen.config.document import BadText, Builder, Duplicate, Mark, Table, is_null
from limen.config.entries import SECTIONS, read_entries
from limen.config.json_text import NotJson, read_json
from limen.config.model import ENVIRONMENT, Settings
from limen.config.problems import Problem
from limen.config.shapes import Shape, bare, describe_shape, parse_scalar
from limen.config.yaml_text import read_yaml
from limen.redact import redact_text

__all__ = ["MOST_BYTES", "Parsed", "parse", "parse_nothing"]

MOST_BYTES: Final = 1 << 20


class Parsed(Struct, frozen=True):
    """What a text says. Settings that could not be read are at their defaults, and `problems` says so."""

    settings: Settings = field(default_factory=Settings)
    problems: tuple[Problem, ...] = ()
    disabled: Mapping[str, str] = field(default_factory=dict[str, str])
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])


def parse(text: str, file_name: str, env: Mapping[str, str]) -> Parsed:
    """Read the text of a settings file, YAML or JSON, and what the environment overrides."""
    try:
        document = _read(text)
    except BadText as error:
        problem = Problem(
            severity="error",
            message=str(error),
            fix=error.fix,
            file=file_name,
            line=error.at.line,
            column=error.at.column,
        )
        return Parsed(problems=(problem,))
    decoder = Decoder(file=file_name, env=env)
    root = document.root
    if root is not None and not is_null(root) and not isinstance(root, Table):
        decoder.report(root.at, "", "the file must be a mapping of settings", "write settings as `key: value` lines")
    return _settle(root if isinstance(root, Table) else None, decoder, document.duplicates)


def parse_nothing(env: Mapping[str, str]) -> Parsed:
    """The defaults, and what the environment overrides."""
    if not any(env.get(variable.name) for variable in ENVIRONMENT if variable.setting):
        return Parsed()
    return _settle(None, Decoder(file="", env=env), [])


def _read(text: str) -> Builder:
    text = text.removeprefix("\ufeff")
    if len(text) > MOST_BYTES:
        raise BadText(f"longer than {MOST_BYTES >> 20} MiB", "make the file smaller", Mark(1, 1))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadText("holds half of a surrogate pair", "save the file as UTF-8", Mark(1, 1)) from error
    if not text.lstrip().startswith("{"):
        return _read_yaml(text)
    document = Builder()
    try:
        read_json(text, document)
    except NotJson as not_json:
        # Braces begin YAML's own short form too. When it is neither, the quote tells which was meant.
        try:
            return _read_yaml(text)
        except BadText:
            if text.lstrip()[1:].lstrip().startswith(('"', "/")):
                raise not_json from None
            raise
    return document


def _read_yaml(text: str) -> Builder:
    document = Builder()
    read_yaml(text, document)
    return document


def _settle(root: Table | None, decoder: Decoder, duplicates: list[Duplicate]) -> Parsed:
    fields = root.fields if root else ()
    doubled = _report_duplicates(decoder, duplicates)
    shape = inspect.type_info(Settings)
    assert isinstance(shape, inspect.StructType)
    plain = [item for item in fields if item.key not in SECTIONS]
    settings = decoder.struct(shape, plain, Mark(1, 1), "")
    assert isinstance(settings, Settings)
    settings = _override(settings, shape, decoder)
    entries = read_entries([item for item in fields if item.key in SECTIONS], decoder, doubled)
    return Parsed(
        settings=structs.replace(settings, servers=entries.servers),
        problems=_in_order(decoder.problems + entries.problems),
        disabled=entries.disabled,
        origins=decoder.origins,
    )


def _override(settings: Settings, shape: inspect.StructType, decoder: Decoder) -> Settings:
    """Apply the variables that stand above the file."""
    for variable in ENVIRONMENT:
        text = decoder.env.get(variable.name)
        if variable.setting is None or not text:
            continue
        section, key = variable.setting.split(".")
        place = _member(_member(shape, section), key)
        try:
            value = parse_scalar(place, text)
        except ValueError:
            decoder.problems.append(
                Problem(
                    severity="error",
                    message=f"{variable.name} cannot be `{redact_text(text[:60])}`",
                    fix=f"set it to {describe_shape(place)}, or unset it",
                    path=variable.setting,
                    file=f"${variable.name}",
                )
            )
            continue
        decoder.origins[variable.setting] = Origin("environment", variable.name)
        settings = structs.replace(settings, **{section: structs.replace(getattr(settings, section), **{key: value})})
    return settings


def _member(shape: Shape, key: str) -> Shape:
    inner = bare(shape)
    assert isinstance(inner, inspect.StructType)
    return next(item.type for item in inner.fields if item.encode_name == key)


def _report_duplicates(decoder: Decoder, duplicates: list[Duplicate]) -> dict[str, list[Problem]]:
    """Report keys that were given twice; those in a server's entry are returned by server."""
    doubled: dict[str, list[Problem]] = defaultdict(list)
    for duplicate in duplicates:
        is_server = len(duplicate.keys) > 1 and duplicate.keys[0] in SECTIONS
        problem = Problem(
            severity="error",
            message=f"`{duplicate.keys[-1][:60]}` is already given on line {duplicate.first.line}",
            fix="remove one of the two",
            path=".".join(duplicate.keys),
            file=decoder.file,
            line=duplicate.at.line,
            column=duplicate.at.column,
            server=duplicate.keys[1] if is_server else None,
        )
        if problem.server is None:
            decoder.problems.append(problem)
        else:
            doubled[problem.server].append(problem)
    return doubled


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """As they stand in the file; what has no line comes last."""
    far = float("inf")
    return tuple(sorted(problems, key=lambda found: (far if found.line is None else found.line, found.column or 0)))
