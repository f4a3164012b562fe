"""Whatever stands in a file: it is read, or refused clearly, and what comes out fits Limen."""

import json
from pathlib import PurePosixPath
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limen.config.editing.edits import put_entries
from limen.config.entries import is_server_name
from limen.config.foreign.formats import FORMATS
from limen.config.foreign.keys import KEYS
from limen.config.foreign.reading import Circumstances, read_foreign
from limen.config.foreign.records import Reading
from limen.config.parse import parse
from limen.errors import ConfigInvalid
from tests.requirements import requirement

TEXTS = st.text(max_size=8) | st.sampled_from(["${A}", "${env:B}", "$C", "{env:D}", "${", "stdio", "limen", "-m", "1s"])
SCALARS = st.none() | st.booleans() | st.integers(-10, 10**12) | st.floats(allow_nan=False) | TEXTS
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
ENTRIES = st.dictionaries(st.sampled_from(sorted(KEYS)), ANYTHING, max_size=5)


def with_command(fields: dict[str, Any], command: str) -> dict[str, Any]:
    return {**fields, "command": command}


PROGRAMS = st.builds(with_command, ENTRIES, TEXTS)
SECTIONS = st.dictionaries(TEXTS, PROGRAMS | ENTRIES | ANYTHING, max_size=3) | st.lists(PROGRAMS, max_size=3)
FILES = st.dictionaries(
    st.sampled_from(["mcpServers", "servers", "mcp", "context_servers", "mcp_servers", "extensions", "projects"]),
    SECTIONS,
    max_size=2,
)


def read(text: str, file: str, name: str | None = None) -> Reading | None:
    """What is in the text; None when it was refused, with its file named."""
    try:
        return read_foreign(text, PurePosixPath(file), Circumstances(format=name))
    except ConfigInvalid as error:
        refused = error
    assert str(refused).startswith(file)
    return None


def check(reading: Reading | None) -> None:
    if reading is None:
        return
    entries = {found.name: {**found.entry, "enabled": False} for found in reading.servers}
    assert all(is_server_name(name) for name in entries)
    text = put_entries("# mine\n", "yaml", ["servers"], entries, "limen.yaml") if entries else ""
    parsed = parse(text, "limen.yaml", {"HOME": "/"})
    assert [problem for problem in parsed.problems if problem.severity == "error"] == []


@requirement("client.import-never-crashes")
@given(ANYTHING, st.none() | st.sampled_from(sorted(FORMATS)))
def test_any_json_is_read_or_refused(data: Any, name: str | None) -> None:
    check(read(json.dumps(data), "any.json", name))


@requirement("client.import-never-crashes")
@given(FILES, st.none() | st.sampled_from(sorted(FORMATS)))
def test_any_misuse_of_known_fields_gives_entries_that_fit_or_none(data: Any, name: str | None) -> None:
    check(read(json.dumps(data), "any.json", name))


@requirement("client.import-never-crashes")
@given(st.text(max_size=40), st.sampled_from(["a.json", "a.yaml", "a.toml", "a"]))
def test_any_text_is_read_or_refused_with_its_place(text: str, name: str) -> None:
    check(read(text, name))
