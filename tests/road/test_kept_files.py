"""Files of other people: replaced whole, with what they were kept beside them."""

import os
import stat
from pathlib import Path

import pytest

from limen.config.editing.files import find_kept, keep, missing_folders, read_state, restore, write_state
from limen.errors import ConfigInvalid, Conflict


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("before")
    path.chmod(0o604)
    write_state(read_state(path), b"after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


def test_a_file_that_somebody_else_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("before")
    state = read_state(path)
    path.write_text("theirs")
    with pytest.raises(Conflict):
        write_state(state, b"ours")
    assert path.read_text() == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


def test_a_file_that_somebody_else_made_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    state = read_state(path)
    path.write_text("theirs")
    with pytest.raises(Conflict):
        write_state(state, b"ours")
    assert path.read_text() == "theirs"


def test_what_was_kept_is_found_only_while_the_file_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"before\r\n\xff")
    before = read_state(path)
    keep(before, b"after")
    write_state(before, b"after")
    kept = find_kept(read_state(path))
    assert kept is not None
    path.write_text("touched")
    assert find_kept(read_state(path)) is None
    path.write_text("after")
    restore(read_state(path), kept)
    assert path.read_bytes() == b"before\r\n\xff"
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


def test_a_file_that_was_not_there_goes_with_the_folders_that_were_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    before = read_state(path)
    assert missing_folders(path) == [tmp_path / "a" / "b", tmp_path / "a"]
    keep(before, b"after")
    write_state(before, b"after")
    (tmp_path / "a" / "theirs").touch()
    kept = find_kept(read_state(path))
    assert kept is not None
    restore(read_state(path), kept)
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")) == ["a", "a/theirs"]


def test_a_copy_is_for_people_and_nothing_is_restored_from_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("before")
    copy = keep(read_state(path), b"after", is_copy=True)
    write_state(read_state(path), b"after")
    assert copy.read_text() == "before"
    assert find_kept(read_state(path)) is None


def test_a_link_that_leads_nowhere_yet_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    write_state(read_state(link), b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder.json"
    folder.mkdir()
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for path in (folder, loop):
        with pytest.raises(ConfigInvalid):
            read_state(path)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(ConfigInvalid):
        read_state(pipe)


def test_text_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"{\n\xff}")
    with pytest.raises(ConfigInvalid, match=r"settings\.json:2"):
        assert read_state(path).text
