"""Git follows the journal: every change, every version, by plumbing that leaves no lock behind."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from limen.brain.git.committer import Committer
from limen.brain.git.follower import GitFollower
from limen.brain.git.history import GitPast, History
from limen.brain.records import Commit, CommitId, DocumentRecord, Write
from limen.errors import NotFound, StoreUnavailable
from tests.contract.git_brain import GitBrain
from tests.requirements import requirement


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[GitBrain]:
    made = GitBrain(tmp_path / "brain")
    yield made
    made.vault.close()


@requirement("brain.git-follows")
def test_one_change_is_one_git_commit_with_author_reason_message_and_trailer(brain: GitBrain) -> None:
    made = brain.write(
        "memory/global/a.md", "one\n", reason="learned", author="Ann <A>", message="First line.\n\nMore."
    )
    assert brain.follow().made == 1
    told = brain.git("log", "-1", "--format=%an|%cn|%s|%b")
    assert told.strip() == f"Ann  A|Limen|learned|First line.\n\nMore.\n\nLimen-Commit: {made.id}"
    assert brain.show("HEAD:memory/global/a.md") == "one\n"
    assert brain.vault.followed() == (made.seq, brain.git("rev-parse", "HEAD").strip())
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_moves_and_deletes_reach_the_tree(brain: GitBrain) -> None:
    brain.change(Write("a/b/c.md", b"c"), Write("a/d.md", b"d"), Write("e.md", b"e"), reason="three")
    brain.rename("a/b/c.md", "f/g.md")
    brain.delete("e.md")
    assert brain.follow().made == 3
    assert brain.git("ls-tree", "-r", "--name-only", "HEAD").split() == ["a/d.md", "f/g.md"]
    assert brain.log() == ["delete", "rename", "three"]
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_a_file_may_become_a_folder_and_the_other_way_round(brain: GitBrain) -> None:
    brain.write("a.md", "file")
    brain.delete("a.md")
    brain.write("a.md/b.md", "in a folder")
    brain.delete("a.md/b.md")
    (brain.root / "a.md").rmdir() if (brain.root / "a.md").is_dir() else None
    brain.write("a.md", "file again")
    brain.follow()
    assert brain.show("HEAD:a.md") == "file again"
    assert brain.show("HEAD~2:a.md/b.md") == "in a folder"
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_a_brain_of_many_versions_stays_small_and_readable(brain: GitBrain) -> None:
    body = [f"line {number}\n" for number in range(400)]
    ids: dict[str, str] = {}
    for number in range(60):
        body[number * 6] = f"changed {number}\n"
        note = Write(f"wiki/note-{number % 45}.md", b"%d" % number)
        ids[brain.change(Write("wiki/long.md", "".join(body).encode()), note, reason="two").id] = "".join(body)
    brain.follow()
    past = GitPast(brain.root)
    for commit, content in ids.items():
        sha = next(one.git_sha for one in brain.vault.commits(limit=1000) if one.id == commit)
        assert past.read_at("wiki/long.md", sha) == content.encode()
    packed = sum(path.stat().st_size for path in (brain.root / ".git" / "objects").rglob("*.pack"))
    assert packed < 60_000, "each folder and each text is told by the one before"
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_folding_hides_no_version_and_names_every_commit(brain: GitBrain) -> None:
    made = [brain.write(f"n/{number % 7}.md", f"version {number}\n") for number in range(30)]
    step = brain.follow(fold=50)
    assert step.followed == 30
    assert 1 < step.made <= 5
    trailers = [line for line in brain.git("log", "--format=%b").splitlines() if line.startswith("Limen-Commit: ")]
    assert sorted(trailers) == sorted(f"Limen-Commit: {commit.id}" for commit in made)
    shas = {commit.seq: commit.git_sha for commit in brain.vault.commits(limit=100)}
    for number, commit in enumerate(made):
        assert brain.show(f"{shas[commit.seq]}:n/{number % 7}.md") == f"version {number}\n"
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_old_versions_are_read_from_git_by_either_id(brain: GitBrain) -> None:
    first = brain.write("a.md", "first")
    brain.write("a.md", "second")
    brain.rename("a.md", "b.md")
    brain.follow()
    brain.vault.past = GitPast(brain.root)
    history = History(brain.vault, brain.root)
    assert brain.vault.read_at("a.md", first.id) == b"first"
    assert history.show("a.md", first.id[:12]) == b"first"
    assert history.show("a.md", brain.git("rev-parse", "HEAD~2").strip()) == b"first"
    assert [one.operation.kind for one in history.versions("b.md")] == ["renamed", "updated", "created"]
    with pytest.raises(NotFound):
        history.show("b.md", first.id)
    with pytest.raises(NotFound):
        history.show("a.md", "no such commit")


@requirement("brain.git-follows")
def test_a_path_that_git_refuses_stays_out_of_git_and_hurts_nothing(brain: GitBrain) -> None:
    brain.write("sub/git~1/config", "not for git")
    brain.write("a.md", "for git")
    brain.follow()
    assert brain.git("ls-tree", "-r", "--name-only", "HEAD").split() == ["a.md"]
    assert brain.vault.unfollowed() == []
    assert brain.git("fsck", "--strict", "--no-dangling") == ""


@requirement("brain.git-follows")
def test_a_kill_between_ref_and_journal_makes_no_second_commit(brain: GitBrain) -> None:
    made = [brain.write(f"{number}.md", "x") for number in range(3)]

    class Deaf(Relay):
        def mark_followed(self, seqs: Sequence[int], git_sha: str, blobs: Mapping[str, str]) -> None:
            raise StoreUnavailable("killed before the journal heard of it")

    with pytest.raises(StoreUnavailable):
        Committer(Deaf(brain), brain.root).step()
    assert len(brain.vault.unfollowed()) == 3
    brain.write("3.md", "y")
    brain.follow()
    assert brain.vault.unfollowed() == []
    assert len(brain.log()) == 4
    assert brain.vault.find_commit(made[0].id) is not None
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_a_new_process_goes_on_in_the_same_pack(brain: GitBrain) -> None:
    brain.change(*(Write(f"n/{number:04}.md", b"%d" % number) for number in range(500)), reason="many")
    brain.follow()
    for number in range(12):
        brain.restart_git()
        brain.write("n/0000.md", f"again {number}")
        brain.follow()
    packs = list((brain.root / ".git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) == 1
    assert packs[0].stat().st_size < 60_000, "a folder of 500 files is not written whole for each change"
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_the_follower_catches_up_in_the_background_and_tells_its_lag(brain: GitBrain) -> None:
    follower = GitFollower(brain.vault, brain.root)
    brain.write("a.md", "one")
    assert follower.lag().commits == 1
    follower.start()
    assert follower.catch_up(4)
    assert follower.lag() == (0, 0.0, "", "")
    brain.write("b.md", "two")
    follower.close()
    assert brain.log() == ["write", "write"]
    brain.must_be_sound()


@requirement("brain.git-follows")
def test_catching_up_needs_no_thread(brain: GitBrain) -> None:
    brain.write("a.md", "one")
    follower = GitFollower(brain.vault, brain.root)
    assert follower.catch_up(4)
    follower.close()
    assert brain.log() == ["write"]


@requirement("brain.git-follows")
def test_only_one_follower_works_and_another_takes_over(brain: GitBrain) -> None:
    first, second = GitFollower(brain.vault, brain.root), GitFollower(brain.vault, brain.root)
    brain.write("a.md", "one")
    assert first.catch_up(4)
    brain.write("b.md", "two")
    assert not second.catch_up(0), "the other holds the election"
    assert first.catch_up(4)
    first.close()
    brain.write("c.md", "three")
    assert second.catch_up(4)
    second.close()
    assert len(brain.log()) == 3


@pytest.mark.slow
@pytest.mark.timeout(60)
@requirement("brain.git-follows")
def test_a_user_who_commits_at_the_same_time_loses_nothing(brain: GitBrain) -> None:
    brain.write("a.md", "start")
    brain.follow()
    done = threading.Event()

    def commit_again_and_again() -> None:
        number = 0
        while number < 25:
            # Git refuses when the branch moves under it; a user tries again.
            number += brain.tries_git("commit", "--allow-empty", "-m", f"user {number}")
        done.set()

    user = threading.Thread(target=commit_again_and_again)
    user.start()
    count = 0
    while not done.is_set():
        brain.write("a.md", f"version {count}")
        brain.follow()
        count += 1
    user.join()
    brain.write("a.md", "end")
    brain.follow()
    subjects = brain.log()
    assert {f"user {number}" for number in range(25)} <= set(subjects)
    assert subjects.count("write") == count + 2
    brain.must_be_sound()


class Relay:
    """A journal that hands everything on; tests make one method fail."""

    def __init__(self, brain: GitBrain) -> None:
        self._vault = brain.vault

    def unfollowed(self, limit: int = 1000) -> Sequence[Commit]:
        return self._vault.unfollowed(limit)

    def content(self, checksum: str) -> bytes | None:
        return self._vault.content(checksum)

    def mark_followed(self, seqs: Sequence[int], git_sha: str, blobs: Mapping[str, str]) -> None:
        self._vault.mark_followed(seqs, git_sha, blobs)

    def followed(self) -> tuple[int, str]:
        return self._vault.followed()

    def head(self) -> int:
        return self._vault.head()

    def commits(self, *, path: str = "", before: int | None = None, limit: int = 100) -> Sequence[Commit]:
        return self._vault.commits(path=path, before=before, limit=limit)

    def find_commit(self, commit: CommitId) -> Commit | None:
        return self._vault.find_commit(commit)

    def records(self, *, after: str = "", limit: int = 10_000) -> Sequence[DocumentRecord]:
        return self._vault.records(after=after, limit=limit)

    def read(self, path: str) -> bytes:
        return self._vault.read(path)
