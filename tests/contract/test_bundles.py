"""Bundles from strangers: what is in them comes out whole beneath one folder, or nothing does."""

import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from limen.errors import FileTooLarge, InvalidArguments, LimenError, NotFound, Unreadable
from limen.gateway.registry import unpacking
from limen.gateway.registry.bundles import draft_bundle, open_bundle
from tests.requirements import requirement

MANIFEST: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "Weather Tools",
    "version": "1.2.3",
    "server": {
        "type": "python",
        "entry_point": "server/main.py",
        "mcp_config": {"command": "python3", "args": ["${__dirname}/server/main.py"], "env": {}},
    },
}


def a_bundle(folder: Path, manifest: Any = None, files: dict[str, bytes] | None = None) -> Path:
    path = folder / "weather.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", json.dumps(MANIFEST if manifest is None else manifest))
        for name, data in (files or {"server/main.py": b"print(1)"}).items():
            bundle.writestr(name, data)
    return path


def launched(**fields: Any) -> dict[str, Any]:
    return {**MANIFEST, "server": {**MANIFEST["server"], "mcp_config": {"command": "node", "args": [], **fields}}}


def left_behind(home: Path) -> list[str]:
    return [str(path.relative_to(home)) for path in home.rglob("*")] if home.exists() else []


def test_a_bundle_is_unpacked_into_a_folder_of_its_own(tmp_path: Path) -> None:
    file = a_bundle(tmp_path, files={"server/main.py": b"print(1)", "server/data/a.txt": b"a"})
    bundle = open_bundle(file, tmp_path / "bundles")
    assert bundle.folder.parent == tmp_path / "bundles"
    assert bundle.folder.name.startswith("Weather-Tools-")
    assert draft_bundle(bundle, "weather").entry == {
        "command": "python3",
        "args": [f"{bundle.folder}/server/main.py"],
    }
    bundle.unpack()
    bundle.unpack()
    assert (bundle.folder / "server/data/a.txt").read_bytes() == b"a"
    assert [path.name for path in (tmp_path / "bundles").iterdir()] == [bundle.folder.name]
    assert stat.S_IMODE((bundle.folder / "server/main.py").stat().st_mode) == 0o600


def test_a_program_in_it_stays_one_that_can_be_run(tmp_path: Path) -> None:
    file = a_bundle(tmp_path)
    with zipfile.ZipFile(file, "a") as bundle:
        member = zipfile.ZipInfo("bin/weather")
        member.external_attr = 0o100755 << 16
        bundle.writestr(member, b"#!/bin/sh\n")
    opened = open_bundle(file, tmp_path / "bundles")
    opened.unpack()
    assert os.access(opened.folder / "bin/weather", os.X_OK)


@requirement("bundle.confined")
@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "a//b", "a/./b", "C:\\evil", "a\\..\\evil", "a\nb", "C:evil"]
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    bundle = open_bundle(a_bundle(tmp_path, files={name: b"x"}), tmp_path / "bundles")
    with pytest.raises(Unreadable):
        bundle.unpack()
    assert left_behind(tmp_path / "bundles") == []
    assert not (tmp_path / "evil").exists()


def test_a_link_is_refused(tmp_path: Path) -> None:
    file = a_bundle(tmp_path)
    with zipfile.ZipFile(file, "a") as bundle:
        member = zipfile.ZipInfo("link")
        member.external_attr = 0o120777 << 16
        bundle.writestr(member, "/etc/passwd")
    with pytest.raises(Unreadable):
        open_bundle(file, tmp_path / "bundles").unpack()
    assert left_behind(tmp_path / "bundles") == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    bundle = open_bundle(a_bundle(tmp_path, files={"a.txt": b"1", "A.txt": b"2"}), tmp_path / "bundles")
    with pytest.raises(Unreadable):
        bundle.unpack()


@requirement("bundle.confined")
def test_a_bomb_is_stopped_by_what_comes_out_of_it(tmp_path: Path) -> None:
    bundle = open_bundle(a_bundle(tmp_path, files={"bomb": bytes(unpacking.RATIO_FROM + 1)}), tmp_path / "bundles")
    with pytest.raises(FileTooLarge):
        bundle.unpack()
    assert left_behind(tmp_path / "bundles") == []


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.mcpb"
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("manifest.json", json.dumps(MANIFEST))
        member = zipfile.ZipInfo("x")
        bundle.writestr(member, b"")
        bundle.filelist += [member] * unpacking.MOST_FILES
    with pytest.raises(LimenError):
        open_bundle(path, tmp_path / "bundles").unpack()


def test_damage_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    file = a_bundle(tmp_path, files={"data": os.urandom(5000)})
    whole = bytearray(file.read_bytes())
    at = whole.index(b"data") + 200
    whole[at : at + 50] = bytes(50)
    file.write_bytes(whole)
    with pytest.raises(Unreadable):
        open_bundle(file, tmp_path / "bundles").unpack()
    assert left_behind(tmp_path / "bundles") == []


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_bundle_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.mcpb"
    file.write_bytes(content)
    with pytest.raises(Unreadable):
        open_bundle(file, tmp_path)


def test_a_bundle_without_a_manifest_or_with_a_huge_one_is_refused(tmp_path: Path) -> None:
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as bundle:
        bundle.writestr("other.json", "{}")
    file = tmp_path / "x.mcpb"
    file.write_bytes(empty.getvalue())
    with pytest.raises(Unreadable):
        open_bundle(file, tmp_path)
    with pytest.raises(FileTooLarge):
        open_bundle(a_bundle(tmp_path, manifest={**MANIFEST, "description": "x" * (2 << 20)}), tmp_path)
    with pytest.raises(Unreadable):
        open_bundle(a_bundle(tmp_path, manifest={"name": "x"}), tmp_path)
    with pytest.raises(NotFound):
        open_bundle(tmp_path / "nothing.mcpb", tmp_path)


def test_what_a_bundle_asks_of_its_user_becomes_variables(tmp_path: Path) -> None:
    manifest = {
        **launched(
            args=["${__dirname}/main.js", "${user_config.folders}", "--key=${user_config.key}", "${user_config.extra}"],
            env={"UNITS": "${user_config.units}", "WHERE": "${HOME}/x", "STOLEN": "${AWS_SECRET}"},
        ),
        "user_config": {
            "key": {"type": "string", "required": True, "sensitive": True, "description": "Your key"},
            "units": {"type": "string", "default": "metric"},
            "folders": {"type": "directory", "multiple": True, "default": ["${DOCUMENTS}", "/srv"]},
            "extra": {"type": "string"},
        },
    }
    bundle = open_bundle(a_bundle(tmp_path, manifest=manifest), tmp_path / "bundles")
    draft = draft_bundle(bundle, "weather")
    assert draft.entry == {
        "command": "node",
        "args": [f"{bundle.folder}/main.js", "${HOME}/Documents", "/srv", "--key=${WEATHER_KEY}"],
        "env": {"UNITS": "metric", "WHERE": "${HOME}/x", "STOLEN": "$${AWS_SECRET}"},
    }
    assert [(needed.name, needed.is_secret) for needed in draft.needs] == [("WEATHER_KEY", True)]


@pytest.mark.parametrize(
    ("server", "command"),
    [
        ({"type": "node", "entry_point": "main.js"}, ["node", "{folder}/main.js"]),
        ({"type": "uv", "entry_point": "main.py"}, ["uv", "run", "--directory", "{folder}", "main.py"]),
        ({"type": "binary", "entry_point": "weather"}, ["{folder}/weather"]),
    ],
)
def test_a_bundle_that_says_only_where_it_begins_is_started_by_its_type(
    tmp_path: Path, server: dict[str, Any], command: list[str]
) -> None:
    bundle = open_bundle(a_bundle(tmp_path, manifest={**MANIFEST, "server": server}), tmp_path / "bundles")
    entry = draft_bundle(bundle, "w").entry
    assert [entry["command"], *entry["args"]] == [word.format(folder=bundle.folder) for word in command]


def test_a_bundle_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    bundle = open_bundle(
        a_bundle(tmp_path, manifest={**MANIFEST, "server": {"type": "java", "entry_point": "x"}}), tmp_path
    )
    with pytest.raises(InvalidArguments):
        draft_bundle(bundle, "w")
