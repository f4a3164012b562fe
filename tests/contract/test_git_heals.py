"""Whatever happens to `.git`, the history goes on by itself and nothing that was followed is lost."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from limen.brain.git.history import GitPast
from limen.brain.records import Write
from tests.contract.git_brain import GitBrain
from tests.requirements import requirement


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[GitBrain]:
    """Three documents in git."""
    made = GitBrain(tmp_path / "brain")
    for name in ("a", "b", "c"):
        made.write(f"{name}.md", f"{name} one\n")
    made.follow()
    yield made
    made.vault.close()


@requirement("brain.git-heals")
def test_a_removed_git_folder_is_made_again_from_what_is_there(brain: GitBrain) -> None:
    shutil.rmtree(brain.root / ".git")
    brain.write("b.md", "b two\n")
    brain.follow()
    assert brain.log() == ["write", "Begin anew: the git history was lost"]
    assert [brain.show(f"HEAD:{name}.md") for name in ("a", "b", "c")] == ["a one\n", "b two\n", "c one\n"]
    assert brain.git("check-ignore", ".limen/journal.db").strip() == ".limen/journal.db"
    brain.must_be_sound()


@pytest.mark.parametrize("name", ["HEAD", "config", "refs", "index", "objects", "limen"])
@requirement("brain.git-heals")
def test_a_removed_part_of_the_git_folder_is_mended(brain: GitBrain, name: str) -> None:
    target = brain.root / ".git" / name
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    brain.write("a.md", "a two\n")
    brain.follow()
    assert [brain.show(f"HEAD:{name}.md") for name in ("a", "b", "c")] == ["a two\n", "b one\n", "c one\n"]
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_missing_objects_are_left_behind_and_the_history_goes_on_from_what_is_whole(brain: GitBrain) -> None:
    brain.git("repack", "-adq")
    kept = brain.git("rev-parse", "HEAD").strip()
    brain.write("a.md", "a two\n")
    brain.follow()
    newest = max((brain.root / ".git" / "objects" / "pack").glob("*.pack"), key=lambda path: path.stat().st_mtime_ns)
    newest.unlink()
    newest.with_suffix(".idx").unlink()
    brain.write("b.md", "b two\n")
    brain.follow()
    assert brain.log()[:2] == ["write", "Go on after a damage of the git history"]
    assert brain.git("rev-parse", "HEAD~2").strip() == kept
    assert brain.show("HEAD:a.md") == "a two\n"
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_a_damaged_pack_is_not_built_upon(brain: GitBrain) -> None:
    pack = next((brain.root / ".git" / "objects" / "pack").glob("*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(data)
    brain.restart_git()
    brain.write("a.md", "a two\n")
    brain.follow()
    assert [brain.show(f"HEAD:{name}.md") for name in ("a", "b", "c")] == ["a two\n", "b one\n", "c one\n"]
    assert brain.git("status", "--porcelain") == ""


@requirement("brain.git-heals")
def test_commits_of_the_user_stay_and_ours_come_on_top(brain: GitBrain) -> None:
    (brain.root / "mine.txt").write_text("the user's\n")
    brain.git("add", "mine.txt")
    brain.git("commit", "-qm", "by hand")
    brain.write("a.md", "a two\n")
    brain.follow()
    assert brain.log()[:2] == ["write", "by hand"]
    assert brain.show("HEAD:mine.txt") == "the user's\n"
    assert brain.git("for-each-ref", "refs/limen/kept") == ""
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_a_user_commit_from_an_old_index_does_not_take_our_changes_back(brain: GitBrain) -> None:
    old_index = (brain.root / ".git" / "index").read_bytes()
    brain.write("a.md", "a two\n")
    brain.follow()
    (brain.root / ".git" / "index").write_bytes(old_index)
    brain.git("commit", "-qm", "with an index from before")
    assert brain.show("HEAD:a.md") == "a one\n"
    brain.write("b.md", "b two\n")
    brain.follow()
    assert brain.log()[:3] == ["write", "Keep what the files hold", "with an index from before"]
    assert brain.show("HEAD:a.md") == "a two\n"
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_what_the_user_staged_stays_staged(brain: GitBrain) -> None:
    (brain.root / "mine.txt").write_text("staged\n")
    brain.git("add", "mine.txt")
    brain.write("a.md", "a two\n")
    brain.follow()
    assert brain.git("status", "--porcelain") == "A  mine.txt\n"


@requirement("brain.git-heals")
def test_a_detached_head_is_left_alone_and_the_branch_follows_later(brain: GitBrain) -> None:
    detached_at = brain.git("rev-parse", "HEAD").strip()
    brain.git("checkout", "-q", "--detach")
    brain.write("a.md", "a two\n")
    assert brain.follow().unpublished == "HEAD is detached"
    assert brain.git("rev-parse", "HEAD").strip() == detached_at
    assert brain.log("refs/limen/head")[0] == "write"
    assert brain.vault.unfollowed() == []
    brain.git("checkout", "-q", "main")
    assert brain.follow().unpublished == ""
    assert brain.log()[0] == "write"
    assert brain.git("rev-list", "--count", "HEAD").strip() == "4"
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_a_rebase_in_progress_is_not_disturbed(brain: GitBrain) -> None:
    brain.git("commit", "--allow-empty", "-qm", "user one")
    brain.git("commit", "--allow-empty", "-qm", "user two")
    assert not brain.tries_git("rebase", "-q", "--exec", "false", "HEAD~2")
    before = brain.git("rev-parse", "main").strip()
    brain.write("d.md", "d one\n")
    assert "rebase" in brain.follow().unpublished
    assert brain.git("rev-parse", "main").strip() == before
    brain.git("rebase", "--abort")
    assert brain.follow().unpublished == ""
    assert brain.log()[:3] == ["write", "user two", "user one"]
    assert brain.show("HEAD:d.md") == "d one\n"
    assert brain.git("status", "--porcelain") == ""


@requirement("brain.git-heals")
def test_rewritten_history_is_the_users_right_and_loses_no_version(brain: GitBrain) -> None:
    brain.write("a.md", "a two\n")
    brain.follow()
    second = brain.vault.commits(limit=1)[0]
    brain.git("reset", "-q", "--hard", "HEAD~1")
    brain.git("commit", "--amend", "-qm", "as I like it")
    brain.vault.notice()
    brain.write("b.md", "b two\n")
    brain.follow()
    assert "as I like it" in brain.log()
    brain.git("reflog", "expire", "--expire=now", "--all")
    brain.git("gc", "-q", "--prune=now")
    brain.vault.past = GitPast(brain.root)
    assert brain.vault.read_at("a.md", second.id) == b"a two\n"
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_another_branch_gets_our_commits_while_it_is_checked_out(brain: GitBrain) -> None:
    brain.git("checkout", "-qb", "trial")
    brain.write("a.md", "a two\n")
    brain.follow()
    assert brain.log("trial")[0] == "write"
    assert len(brain.log("trial")) == len(brain.log("main")) + 1
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_a_deleted_branch_comes_back(brain: GitBrain) -> None:
    (brain.root / ".git" / "refs" / "heads" / "main").unlink()
    brain.write("a.md", "a two\n")
    brain.follow()
    assert len(brain.log()) == 4
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_git_may_pack_everything_at_any_time(brain: GitBrain) -> None:
    for number in range(5):
        brain.git("gc", "-q", "--prune=now")
        brain.write("a.md", f"a {number}\n")
        brain.follow()
    assert len(brain.log()) == 8
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_our_own_lock_of_a_killed_process_is_known_and_removed_at_once(brain: GitBrain) -> None:
    folder = brain.root / ".git"
    for draft, lock in (("ref-draft", "refs/heads/main.lock"), ("index-draft", "index.lock")):
        (folder / "limen" / draft).write_bytes(b"half done")
        os.link(folder / "limen" / draft, folder / lock)
    brain.restart_git()
    brain.write("a.md", "a two\n")
    assert brain.follow().unpublished == ""
    assert brain.log()[0] == "write"
    brain.must_be_sound()


@pytest.mark.parametrize("lock", ["refs/heads/main.lock", "index.lock"])
@requirement("brain.git-heals")
def test_a_lock_of_a_git_at_work_delays_the_branch_and_not_the_history(brain: GitBrain, lock: str) -> None:
    held = brain.root / ".git" / lock
    held.touch()
    brain.write("a.md", "a two\n")
    assert "git is at work" in brain.follow().unpublished
    assert brain.vault.unfollowed() == []
    assert len(brain.log()) == 3
    held.unlink()
    assert brain.follow().unpublished == ""
    assert len(brain.log()) == 4
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_a_ref_lock_that_a_killed_git_left_is_removed_when_it_is_old(brain: GitBrain) -> None:
    _left_long_ago(brain.root / ".git" / "refs" / "heads" / "main.lock")
    brain.write("a.md", "a two\n")
    assert brain.follow().unpublished == ""
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_an_index_lock_that_a_killed_git_left_does_not_stop_the_branch(brain: GitBrain) -> None:
    lock = brain.root / ".git" / "index.lock"
    _left_long_ago(lock)
    brain.write("a.md", "a two\n")
    assert brain.follow().unpublished == ""
    assert len(brain.log()) == 4
    lock.unlink()
    brain.write("b.md", "b two\n")
    brain.follow()
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_many_documents_that_were_there_before_git_are_taken_up(tmp_path: Path) -> None:
    brain = GitBrain(tmp_path / "brain")
    brain.git("init", "-q", "-b", "work")
    (brain.root / "README.txt").write_text("mine\n")
    brain.git("add", "README.txt")
    brain.git("commit", "-qm", "mine")
    brain.change(*(Write(f"n/{number}.md", b"%d" % number) for number in range(50)), reason="many")
    brain.follow()
    assert brain.log("work") == ["many", "mine"]
    brain.vault.close()


def _left_long_ago(path: Path) -> None:
    path.touch()
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))


@pytest.mark.parametrize("index_came_along", [True, False])
@requirement("brain.git-heals")
def test_a_kill_while_the_branch_moves_leaves_a_clean_status(brain: GitBrain, index_came_along: bool) -> None:
    before = brain.git("rev-parse", "HEAD").strip()
    old_index = (brain.root / ".git" / "index").read_bytes()
    brain.write("a.md", "a two\n")
    brain.follow()
    (brain.root / ".git" / "limen" / "staged-from").write_text(before)
    if not index_came_along:
        (brain.root / ".git" / "index").write_bytes(old_index)
    brain.restart_git()
    brain.write("a.md", "a three\n")
    brain.write("b.md", "b two\n")
    brain.follow()
    brain.must_be_sound()


@requirement("brain.git-heals")
def test_what_a_power_cut_left_half_written_is_made_again(brain: GitBrain) -> None:
    folder = brain.root / ".git"
    (folder / "index").write_bytes((folder / "index").read_bytes()[:-40])
    (folder / "refs" / "limen" / "published").write_bytes(b"")
    (folder / "limen" / "packs.json").write_bytes(b"")
    (folder / "limen" / "staged-from").write_bytes(b"")
    brain.restart_git()
    brain.write("a.md", "a two\n")
    brain.follow()
    assert len(brain.log()) == 4
    brain.must_be_sound()
