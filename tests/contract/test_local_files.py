"""Local files, on a real disk: every kind of file that is none, and every way out of the allowed folders."""

import os
import socket
import threading
from pathlib import Path

import pytest

from limen.brain.ingest.files import list_files, read_file
from limen.errors import Denied, FileTooLarge, InvalidArguments, NotFound, Unreadable
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("canary")
    (folder / "a.md").write_text("hello")
    return folder


@requirement("ingest.file-roots")
def test_a_file_is_read_by_its_absolute_or_relative_path(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "b.md").write_text("deep")
    assert read_file(str(root / "a.md"), [root]).content == b"hello"
    found = read_file("sub/b.md", [root])
    assert (found.content, found.name, found.path) == (b"deep", "sub/b.md", str(root / "sub" / "b.md"))
    assert read_file("sub/../a.md", [root]).content == b"hello"


@requirement("ingest.file-roots")
def test_the_second_allowed_folder_counts_too(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.md").write_text("there")
    assert read_file(str(other / "c.md"), [root, other]).content == b"there"


@requirement("ingest.file-roots")
def test_a_root_that_is_a_link_is_followed_itself(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert read_file("a.md", [tmp_path / "link"]).content == b"hello"
    assert read_file(str(tmp_path / "link" / "a.md"), [tmp_path / "link"]).content == b"hello"


@pytest.mark.parametrize(
    "path", ["../secret.md", "sub/../../secret.md", "/etc/passwd", "../root-twin/x", "/dev/zero", "/", "../nowhere"]
)
@requirement("ingest.file-roots")
def test_what_lies_outside_is_denied_whether_it_exists_or_not(root: Path, path: str) -> None:
    with pytest.raises(Denied, match="allowed_file_roots") as denied:
        read_file(path, [root])
    assert denied.value.facts["rule"] == "allowed_file_roots"


@requirement("ingest.file-roots")
def test_a_folder_that_only_begins_alike_is_outside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "x.md").write_text("canary")
    with pytest.raises(Denied):
        read_file(str(tmp_path / "root-twin" / "x.md"), [root])


@requirement("ingest.file-roots")
def test_without_allowed_folders_nothing_is_read(root: Path) -> None:
    with pytest.raises(Denied, match="no folder is allowed"):
        read_file(str(root / "a.md"), [])


@requirement("ingest.file-roots")
def test_links_that_stay_inside_are_followed_and_links_that_lead_out_are_not(root: Path, tmp_path: Path) -> None:
    (root / "inside.md").symlink_to("a.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "outdir").symlink_to(tmp_path)
    assert read_file("inside.md", [root]).content == b"hello"
    for path in ("out.md", "outdir/secret.md"):
        with pytest.raises(Denied, match="link"):
            read_file(path, [root])


@requirement("ingest.file-roots")
def test_a_circle_of_links_is_refused(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")
    with pytest.raises(Unreadable):
        read_file("x", [root])


@requirement("ingest.file-roots")
def test_a_hard_link_is_refused_because_it_may_be_a_file_outside(root: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "secret.md", root / "linked.md")
    with pytest.raises(Unreadable, match="hard link"):
        read_file("linked.md", [root])
    assert read_file("linked.md", [root], follows_hard_links=True).content == b"canary"


@requirement("ingest.file-roots")
def test_a_file_swapped_for_a_link_again_and_again_never_leads_out(root: Path, tmp_path: Path) -> None:
    target, spare = root / "swap.md", root / "spare"
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            spare.symlink_to(tmp_path / "secret.md")
            os.replace(spare, target)
            spare.write_text("plain")
            os.replace(spare, target)

    target.write_text("plain")
    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    try:
        for _ in range(2000):
            try:
                seen.add(read_file("swap.md", [root]).content)
            except (Denied, Unreadable, NotFound):
                continue
    finally:
        is_over.set()
        swapper.join()
    assert b"canary" not in seen


@requirement("ingest.file-roots")
def test_pipes_sockets_devices_and_folders_are_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "sub").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(root)
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        for path in ("pipe", "sub", "sock", "."):
            with pytest.raises(Unreadable):
                read_file(path, [root])
    with pytest.raises(Unreadable, match="device"):
        read_file("/dev/zero", [Path("/dev")])


@requirement("ingest.file-roots")
def test_a_sparse_file_of_five_gigabytes_is_refused_by_its_size(root: Path) -> None:
    with (root / "huge.md").open("wb") as file:
        file.truncate(5 * 1024**3)
    with pytest.raises(FileTooLarge) as refused:
        read_file("huge.md", [root])
    assert refused.value.code == "file_too_large"


@requirement("ingest.file-roots")
def test_the_limit_itself_is_still_read(root: Path) -> None:
    (root / "b.md").write_bytes(b"x" * 100)
    assert len(read_file("b.md", [root], limit=100).content) == 100
    with pytest.raises(FileTooLarge):
        read_file("b.md", [root], limit=99)


@requirement("ingest.file-roots")
def test_an_empty_file_is_read_as_empty(root: Path) -> None:
    (root / "empty.md").touch()
    assert read_file("empty.md", [root]).content == b""


@pytest.mark.parametrize(
    "name",
    [
        "line\nbreak.md",
        "-x",
        "--help",
        "\u202egnp.md",
        "n" * 252 + ".md",
        "cafe\u0301.md",
        "caf\u00e9.md",
        " ",
        "$(id).md",
        "*.md",
    ],
)
@requirement("ingest.file-roots")
def test_strange_names_are_only_names(root: Path, name: str) -> None:
    (root / name).write_text(name)
    assert read_file(name, [root]).content == name.encode()
    assert str(root / name) in list_files(".", [root])


@requirement("ingest.file-roots")
def test_twins_in_another_normal_form_or_case_are_different_files(root: Path) -> None:
    for name in ("cafe\u0301.md", "caf\u00e9.md", "Twin.md", "twin.md"):
        (root / name).write_text(name)
    for name in ("cafe\u0301.md", "caf\u00e9.md", "Twin.md", "twin.md"):
        assert read_file(name, [root]).content == name.encode()


@requirement("ingest.file-roots")
def test_names_that_are_not_unicode_are_taken(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (root / name).write_text("x")
    found = read_file(name, [root])
    assert found.name.encode()
    assert found.path.encode()
    assert found.content == b"x"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
@requirement("ingest.file-roots")
def test_what_is_no_path_is_an_invalid_argument(root: Path, path: str) -> None:
    with pytest.raises(InvalidArguments):
        read_file(path, [root])


@requirement("ingest.file-roots")
def test_a_name_too_long_for_the_disk_and_a_missing_file_are_told_apart_from_denial(root: Path) -> None:
    with pytest.raises(Unreadable):
        read_file("n" * 300, [root])
    with pytest.raises(NotFound):
        read_file("nowhere.md", [root])
    with pytest.raises((NotFound, Unreadable)):
        read_file("a.md/below", [root])


@requirement("ingest.file-roots")
def test_a_file_without_permission_is_refused(root: Path) -> None:
    (root / "a.md").chmod(0)
    me = os.geteuid()
    if me == 0:
        # Root may read everything; anybody else may not.
        os.seteuid(65534)
    try:
        with pytest.raises(Unreadable, match="permission"):
            read_file("a.md", [root])
    finally:
        os.seteuid(me)


@requirement("ingest.file-roots")
def test_a_file_that_does_not_keep_still_is_refused(root: Path) -> None:
    # The kernel's own counters change with every look at them, and their size is not what they hold.
    with pytest.raises(Unreadable, match="changes"):
        read_file("/proc/self/status", [Path("/proc")])


@requirement("ingest.file-roots")
def test_a_folder_is_listed_sorted_without_hidden_ignored_and_linked_files(root: Path, tmp_path: Path) -> None:
    for name in ("z.md", "sub/b.md", "sub/deep/c.md", ".hidden", ".git/x", "node_modules/m.md", "sub/__pycache__/p"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "outdir").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    listed = [os.path.relpath(path, root) for path in list_files(str(root), [root])]
    assert listed == ["a.md", "sub/b.md", "sub/deep/c.md", "z.md"]
    assert [os.path.relpath(path, root) for path in list_files("sub", [root])] == ["sub/b.md", "sub/deep/c.md"]


@requirement("ingest.file-roots")
def test_only_folders_beneath_the_allowed_ones_are_listed(root: Path) -> None:
    with pytest.raises(Denied):
        list_files("..", [root])
    with pytest.raises(NotFound):
        list_files("nowhere", [root])
    with pytest.raises(Unreadable):
        list_files("a.md", [root])
