"""What is written as a pack is read by git as the objects that went in."""

import random
import subprocess
from pathlib import Path

import pytest

from limen.brain.git.delta import splice_delta
from limen.brain.git.objects import FILE, FOLDER, Entry, Tree, oid_of
from limen.brain.git.packfile import Pack, PackUnreadable, join
from limen.brain.git.packroom import FULL_BYTES, JOINED_AT, PackRoom


def test_a_folder_sorts_as_git_sorts_it(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "--bare", ".")
    blob = oid_of("blob", b"")
    names: dict[bytes, Entry | None] = {
        b"a": Entry(FOLDER, oid_of("tree", b"")),
        b"a.md": Entry(FILE, blob),
        b"a-b": Entry(FILE, blob),
        b"a0": Entry(FILE, blob),
    }
    tree, _ = Tree().edited(names)
    made = _git(tmp_path, "hash-object", "-t", "tree", "--stdin", data=tree.data())
    assert made.decode().strip() == oid_of("tree", tree.data()).hex()


def test_git_reads_a_pack_of_ours_also_after_it_grew(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "--bare", ".")
    pack, texts = _filled(random.Random(3), 40)
    for _ in range(3):
        sealed = pack.seal()
        pack = Pack.resume(sealed.pack, sealed.idx)
        more = b"more %d\n" % len(pack)
        texts[oid_of("blob", more)] = more
        pack.add("blob", oid_of("blob", more), more)
    _write(tmp_path / "objects" / "pack", pack)
    assert pack.depth(max(pack.offsets.values())) == 0
    for oid, text in texts.items():
        assert _git(tmp_path, "cat-file", "blob", oid.hex()) == text
    _git(tmp_path, "fsck", "--strict")


def test_packs_are_joined_without_reading_them_again(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "--bare", ".")
    parts = [_filled(random.Random(seed), 15) for seed in range(4)]
    sealed = [pack.seal() for pack, _ in parts]
    joined = join([(one.pack, one.idx) for one in sealed])
    folder = tmp_path / "objects" / "pack"
    (folder / f"{joined.name}.pack").write_bytes(joined.pack)
    (folder / f"{joined.name}.idx").write_bytes(joined.idx)
    for _, texts in parts:
        for oid, text in texts.items():
            assert _git(tmp_path, "cat-file", "blob", oid.hex()) == text
    with pytest.raises(PackUnreadable):
        join([(sealed[0].pack, sealed[0].idx), (sealed[0].pack, sealed[0].idx)])
    with pytest.raises(PackUnreadable):
        Pack.resume(sealed[0].pack, sealed[1].idx)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_full_packs_are_few(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "--bare", ".")
    folder = tmp_path / "objects" / "pack"
    room = PackRoom(folder, tmp_path / "limen" / "packs.json")
    choose = random.Random(1)
    oids: list[bytes] = []
    for _ in range(JOINED_AT + 3):
        pack = room.resume()
        text = choose.randbytes(FULL_BYTES)
        oids.append(pack_blob(pack, text))
        room.publish(pack)
        room.release()
        room.join_full()
    assert len(list(folder.glob("*.pack"))) < 6
    assert not list(folder.glob("*.keep"))
    found = _git(tmp_path, "cat-file", "--batch-check", data=b"".join(b"%s\n" % oid.hex().encode() for oid in oids))
    assert found.count(b" blob ") == len(oids)
    _git(tmp_path, "fsck", "--strict")


def pack_blob(pack: Pack, text: bytes) -> bytes:
    oid = oid_of("blob", text)
    pack.add("blob", oid, text)
    return oid


def _filled(choose: random.Random, number: int) -> tuple[Pack, dict[bytes, bytes]]:
    """A pack with a chain of texts, each told by the one before."""
    pack = Pack()
    text = choose.randbytes(3000)
    texts = {pack_blob(pack, text): text}
    for _ in range(number):
        at = choose.randrange(len(text))
        former, text = text, text[:at] + choose.randbytes(choose.randrange(1, 400)) + text[at:]
        oid = oid_of("blob", text)
        pack.add_delta(oid, pack.offsets[oid_of("blob", former)], splice_delta(former, text))
        texts[oid] = text
    return pack, texts


def _write(folder: Path, pack: Pack) -> None:
    sealed = pack.seal()
    (folder / f"{sealed.name}.pack").write_bytes(sealed.pack)
    (folder / f"{sealed.name}.idx").write_bytes(sealed.idx)


def _git(folder: Path, *arguments: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
