"""Every format that Limen reads: what is brought along, what is told, and what is not taken."""

from pathlib import Path, PurePosixPath

import pytest

from limen.config.foreign.formats import FORMATS
from limen.config.foreign.reading import Circumstances, read_foreign
from limen.config.foreign.records import Reading
from limen.errors import ConfigInvalid
from tests.requirements import requirement
from tests.unit.config.foreign.samples import CLAUDE_CODE, CLIENTS, CURSOR, FOLDED_IN, SIDEKICK, Sample

SHOP = Path("/srv/shop")


def read(sample: Sample, **given: object) -> Reading:
    here = Circumstances(project=SHOP if sample.file.startswith("/srv/shop") else None, here=SHOP, **given)  # pyright: ignore[reportArgumentType]
    return read_foreign(sample.text, sample.path, here)


def read_json(text: str, name: str = "mcp.json") -> Reading:
    return read_foreign(text, PurePosixPath(name))


def told(reading: Reading) -> str:
    return "\n".join([*reading.notes, *(note for found in reading.servers for note in found.notes)])


@requirement("client.import-formats")
@pytest.mark.parametrize("sample", [*FOLDED_IN, *CLIENTS], ids=lambda sample: sample.format)
def test_every_format_becomes_entries_of_limen(sample: Sample) -> None:
    reading = read(sample)
    assert {found.name: dict(found.entry) for found in reading.servers} == sample.servers
    assert tuple(server.name for server in reading.left_out) == sample.left_out
    for words in sample.told:
        assert words in told(reading)


@requirement("client.import-formats")
@pytest.mark.parametrize("sample", [*FOLDED_IN, *CLIENTS], ids=lambda sample: sample.format)
def test_a_file_is_recognised_by_what_is_in_it(sample: Sample) -> None:
    generic = {"claude-desktop": "claude-desktop"}
    assert read(sample).format == generic.get(sample.format, sample.format)


@requirement("client.import-formats")
@pytest.mark.parametrize("sample", [*FOLDED_IN, *CLIENTS], ids=lambda sample: sample.format)
def test_saying_whose_file_it_is_gives_the_same(sample: Sample) -> None:
    assert read(sample, format=sample.format) == read(sample)


@requirement("client.import-formats")
def test_servers_of_every_project_are_read_when_none_is_meant() -> None:
    reading = read_foreign(CLAUDE_CODE.text, CLAUDE_CODE.path)
    assert [found.name for found in reading.servers] == ["everything", "docs", "shop", "other"]
    assert not any("enabled" in found.entry for found in reading.servers)


@requirement("client.import-formats")
@pytest.mark.parametrize(
    "entry",
    [
        '{"command": "limen", "args": ["stdio"]}',
        '{"command": "/opt/venv/bin/limen", "args": ["stdio"]}',
        '{"command": "C:\\\\Tools\\\\limen.exe", "args": ["stdio"]}',
        '{"command": "/opt/venv/bin/python", "args": ["-m", "limen", "stdio"]}',
        '{"command": "uvx", "args": ["limen", "stdio"]}',
        '{"command": ["/opt/venv/bin/python", "/opt/venv/bin/limen", "stdio"]}',
        '{"url": "http://localhost:8765/mcp"}',
        '{"url": "http://127.0.0.1:8765/mcp/"}',
    ],
)
def test_limen_is_not_imported_into_itself(entry: str) -> None:
    reading = read_foreign(
        f'{{"mcpServers": {{"hub": {entry}}}}}', PurePosixPath("mcp.json"), Circumstances(own_port=8765)
    )
    assert [server.is_limen for server in reading.left_out] == [True]
    assert not reading.servers


@requirement("client.import-formats")
@pytest.mark.parametrize(
    "entry",
    [
        '{"command": "mcp-server-filesystem", "args": ["/srv/limen"]}',
        '{"command": "python3", "args": ["server.py", "limen"]}',
        '{"url": "http://localhost:9000/mcp"}',
        '{"url": "https://limen.example.com/mcp"}',
    ],
)
def test_what_only_mentions_limen_is_another_server(entry: str) -> None:
    reading = read_foreign(
        f'{{"mcpServers": {{"hub": {entry}}}}}', PurePosixPath("mcp.json"), Circumstances(own_port=8765)
    )
    assert [found.name for found in reading.servers] == ["hub"]


@requirement("client.import-formats")
@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("my server", "my-server"),
        ("@scope/pkg", "scope-pkg"),
        ("a__b", "a_b"),
        ("ends_", "ends"),
        ("日本", "server"),
        ("", "server"),
        ("x" * 60, "x" * 48),
    ],
)
def test_a_name_is_made_to_fit_and_told(name: str, fitting: str) -> None:
    reading = read_json(f'{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}')
    assert [found.name for found in reading.servers] == [fitting]
    assert "was called" in told(reading)


@requirement("client.import-formats")
def test_what_has_no_place_in_limen_is_told_and_not_guessed() -> None:
    reading = read_json(
        '{"mcpServers": {"a": {"command": "x", "oauth": {"a": 1}, "surprise": 7, "autoApprove": ["b"]}}}'
    )
    assert dict(reading.servers[0].entry) == {"command": "x"}
    assert [note.partition(" ")[0] for note in reading.servers[0].notes] == ["`autoApprove`", "`oauth`", "`surprise`"]


@requirement("client.import-formats")
@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('"npx"', "no mapping"),
        ("{}", "neither"),
        ('{"command": ""}', "neither"),
        ('{"command": ["x", {}]}', "neither"),
        ('{"type": "websocket", "url": "wss://example.com"}', "websocket"),
        ('{"url": "ftp://example.com"}', "url"),
    ],
)
def test_what_cannot_be_a_server_is_left_out_with_the_reason(entry: str, reason: str) -> None:
    reading = read_json(f'{{"mcpServers": {{"good": {{"command": "x"}}, "bad": {entry}}}}}')
    assert [found.name for found in reading.servers] == ["good"]
    assert reason in reading.left_out[0].reason


@requirement("client.import-formats")
@pytest.mark.parametrize(
    ("field", "key"),
    [
        ('"tags": ["not a tag!"]', "tags"),
        ('"timeout": "soon"', "timeout"),
        ('"headers": 3', "headers"),
        ('"idle_timeout": "whenever"', "idle_timeout"),
        ('"tools": [{"name": "a"}, {"name": "a"}]', "tools"),
    ],
)
def test_a_field_that_limen_would_refuse_is_left_out_and_told(field: str, key: str) -> None:
    reading = read_json(f'{{"mcpServers": {{"a": {{"url": "https://example.com/mcp", {field}}}}}}}')
    assert dict(reading.servers[0].entry) == {"url": "https://example.com/mcp"}
    assert key in told(reading)


@requirement("client.import-formats")
def test_a_switch_that_cannot_be_read_switches_off() -> None:
    reading = read_json('{"mcpServers": {"a": {"command": "x", "enabled": "perhaps"}}}')
    assert reading.servers[0].entry["enabled"] is False


@requirement("client.import-formats")
def test_a_program_beside_an_address_is_settled_by_the_type_and_told() -> None:
    both = '"command": "x", "args": ["y"], "url": "https://example.com/mcp"'
    program = read_json(f'{{"mcpServers": {{"a": {{"type": "stdio", {both}}}}}}}').servers[0]
    address = read_json(f'{{"mcpServers": {{"a": {{{both}}}}}}}').servers[0]
    assert dict(program.entry) == {"command": "x", "args": ["y"]}
    assert dict(address.entry) == {"url": "https://example.com/mcp"}
    assert program.notes
    assert address.notes


@requirement("client.import-formats")
def test_relative_folders_begin_at_the_project() -> None:
    text = '{"mcpServers": {"a": {"command": "x", "cwd": "srv"}, "b": {"command": "node", "args": ["./b.js"]}}}'
    found = read_foreign(text, PurePosixPath("/srv/shop/.mcp.json"), Circumstances(project=SHOP)).servers
    assert [each.entry["cwd"] for each in found] == ["/srv/shop/srv", "/srv/shop"]
    nowhere = read_foreign(text, PurePosixPath("mcp.json")).servers
    assert not any("cwd" in each.entry for each in nowhere)


@requirement("client.import-formats")
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("mcp.json", '{\n  "mcpServers": {\n    "a": {"command" "x"}\n}}', 3),
        ("config.toml", '[mcp_servers.a]\ncommand = "x\n', 2),
        ("config.yaml", "extensions:\n  a: [\n", 3),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_place(name: str, text: str, line: int) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        read_json(text, f"/srv/{name}")
    assert str(refused.value).startswith(f"/srv/{name}:{line}:")
    assert refused.value.facts["fix"]


@requirement("client.import-formats")
@pytest.mark.parametrize("text", ['{"compilerOptions": {}}', "[1, 2]", '"text"', '{"servers": 3}'])
def test_a_file_without_servers_of_any_kind_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid):
        read_json(text)


@requirement("client.import-formats")
@pytest.mark.parametrize("text", ["", "{}", "// nothing\n", "\ufeff{}"])
def test_an_empty_file_holds_nothing(text: str) -> None:
    reading = read_json(text)
    assert (reading.servers, reading.left_out) == ((), ())


@requirement("client.import-formats")
def test_a_bare_map_of_servers_is_read_as_one() -> None:
    reading = read_json('{"a": {"command": "x"}, "b": {"url": "https://example.com/mcp"}}')
    assert [found.name for found in reading.servers] == ["a", "b"]


@requirement("client.import-formats")
def test_a_section_that_is_no_section_is_told() -> None:
    reading = read_foreign('{"mcpServers": 7}', PurePosixPath("mcp.json"), Circumstances(format="cursor"))
    assert not reading.servers
    assert "mapping" in told(reading)


@requirement("client.import-formats")
def test_every_format_can_be_named() -> None:
    for name in FORMATS:
        assert read_foreign("{}", PurePosixPath("file.json"), Circumstances(format=name)).servers == ()


@requirement("client.import-formats")
def test_the_notes_never_repeat_a_secret() -> None:
    text = CURSOR.text.replace("Bearer ${env:DESIGN}", "Bearer sk-abcdefabcdefabcdef0123")
    assert "abcdefabcdef" not in repr(read_foreign(text, CURSOR.path))


@requirement("client.import-formats")
def test_entries_without_a_name_are_numbered() -> None:
    text = SIDEKICK.text.replace('"name": "git",', "")
    assert [found.name for found in read_foreign(text, SIDEKICK.path).servers] == ["server-1", "sample_mcp_server"]
