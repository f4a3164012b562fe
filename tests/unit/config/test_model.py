"""The model: its defaults are usable, frozen, and agree with what neighbours know."""

from typing import get_args

import msgspec
import pytest

from limen.config import model
from limen.config.describe import describe
from limen.config.model import ENVIRONMENT, ServerEntry, ServerSettings, Settings
from limen.protocol.frames import DEFAULT_LIMITS
from limen.protocol.versions import SERVED
from tests.requirements import requirement


@requirement("config.frozen")
@pytest.mark.parametrize("section", [Settings(), Settings().server, Settings().limits, ServerEntry(command="x")])
def test_a_setting_cannot_be_changed(section: msgspec.Struct) -> None:
    name = msgspec.structs.fields(section)[0].name
    with pytest.raises(AttributeError):
        setattr(section, name, "changed")


@requirement("config.defaults")
def test_the_defaults_satisfy_the_models_own_bounds() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Settings()), type=Settings) == Settings()


@requirement("config.defaults")
def test_the_defaults_listen_on_loopback_and_let_callers_read_only() -> None:
    settings = Settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8765)
    assert (settings.tier, settings.toolsets) == ("read", ("memory", "hub"))
    assert settings.audit.arguments == "digest"


def test_half_open_connections_are_closed_within_fifteen_seconds_by_default() -> None:
    server = ServerSettings()
    assert max(server.header_timeout_s, server.body_timeout_s) <= 15


def test_the_revisions_are_those_the_wire_serves() -> None:
    assert get_args(model.Revision) == SERVED
    assert ServerSettings().protocol_versions == SERVED


def test_the_limits_are_those_of_the_wire() -> None:
    limits = Settings().limits
    assert limits.body_bytes == limits.line_bytes == DEFAULT_LIMITS.frame_bytes
    assert (limits.string_bytes, limits.depth) == (DEFAULT_LIMITS.string_bytes, DEFAULT_LIMITS.depth)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (ServerEntry(command="x"), "stdio"),
        (ServerEntry(url="https://example.com/mcp"), "http"),
        (ServerEntry(command="git", cli=True), "cli"),
    ],
)
def test_the_shape_of_an_entry_decides_its_kind(entry: ServerEntry, kind: str) -> None:
    assert entry.kind == kind


def test_an_entry_does_not_show_its_secrets_when_it_is_logged() -> None:
    settings = Settings(servers={"a": ServerEntry(command="x", args=("hunter2",), env={"KEY": "hunter2"})})
    assert "hunter2" not in repr(settings)


def test_every_setting_is_described_in_one_sentence() -> None:
    silent = [setting.path for setting in describe() if not setting.description.endswith(".")]
    assert not silent


def test_settings_are_described_with_path_type_and_default() -> None:
    described = {setting.path: setting for setting in describe()}
    port = described["server.port"]
    assert (port.type, port.default) == ("a whole number from 0 to 65535", 8765)
    assert described["server.protocol_versions"].default == ["2025-11-25", "2026-07-28"]
    assert described["servers.<name>.timeout"].default == 120.0
    assert described["servers.<name>.tools[].name"].is_required
    assert len(described) == len(describe())


@pytest.mark.parametrize(("path", "choices"), [("tier", ["read", "write", "admin"]), ("log.level", ["debug", "error"])])
def test_the_words_for_a_choice_name_every_choice(path: str, choices: list[str]) -> None:
    described = {setting.path: setting.type for setting in describe()}
    assert all(f"`{choice}`" in described[path] for choice in choices)


def test_each_variable_overrides_a_setting_that_exists() -> None:
    paths = {setting.path for setting in describe()}
    assert {variable.setting for variable in ENVIRONMENT if variable.setting} <= paths


def test_an_editor_can_have_a_schema_of_it() -> None:
    assert msgspec.json.schema(Settings)["$ref"] == "#/$defs/Settings"
