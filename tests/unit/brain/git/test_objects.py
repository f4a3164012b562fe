"""Folders and deltas as bytes, and the paths that git may hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.git.delta import splice_delta, tree_delta
from limen.brain.git.objects import FILE, FOLDER, Entry, Tree, is_trackable

NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name)
ENTRIES = st.builds(Entry, st.sampled_from([FILE, FOLDER]), st.binary(min_size=20, max_size=20))


def applied(base: bytes, delta: bytes) -> bytes:
    """Read a delta as git's format describes it."""
    at = 0
    sizes: list[int] = []
    for _ in range(2):
        size = shift = 0
        while True:
            byte = delta[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
        sizes.append(size)
    assert sizes[0] == len(base)
    out = b""
    while at < len(delta):
        op = delta[at]
        at += 1
        if op & 128:
            numbers = [0] * 7
            for bit in range(7):
                if op & 1 << bit:
                    numbers[bit] = delta[at]
                    at += 1
            start = int.from_bytes(bytes(numbers[:4]), "little")
            size = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
            out += base[start : start + size]
        else:
            assert op
            out += delta[at : at + op]
            at += op
    assert sizes[1] == len(out)
    return out


@given(st.binary(max_size=600), st.binary(max_size=600), st.binary(max_size=300), st.binary(max_size=600))
def test_a_text_told_by_another_is_that_text(head: bytes, old: bytes, new: bytes, tail: bytes) -> None:
    base, target = head + old + tail, head + new + tail
    assert applied(base, splice_delta(base, target)) == target


@given(st.dictionaries(NAMES, ENTRIES), st.dictionaries(NAMES, st.none() | ENTRIES))
def test_a_folder_told_by_another_is_that_folder(before: dict[bytes, Entry], edits: dict[bytes, Entry | None]) -> None:
    base, _ = Tree().edited(before)
    chosen = edits | dict.fromkeys(list(before)[::3])
    target, touched = base.edited(chosen)
    assert applied(base.data(), tree_delta(base, target, touched)) == target.data()
    assert Tree.parse(target.data()).data() == target.data()
    for name, entry in chosen.items():
        assert target.find(name) == entry
    assert list(target.keys) == sorted(target.keys)


@pytest.mark.parametrize("path", [".git/x", "a/.git", "a/.GIT/b", "a/git~1/b", "a/.git./b", "a/.g\u200cit", "a/.git:x"])
def test_a_path_that_means_git_itself_is_not_tracked(path: str) -> None:
    assert not is_trackable(path)


@pytest.mark.parametrize("path", ["a.md", ".gitignore", "git", "a/.github/x.md", "gitx~1"])
def test_any_other_path_is_tracked(path: str) -> None:
    assert is_trackable(path)
