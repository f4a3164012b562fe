"""Which journal commits share a git commit, and what that says."""

from hypothesis import given
from hypothesis import strategies as st

from limen.brain.git.plan import effects_of, folds, message_of, person_of, signed, trailers_of
from limen.brain.records import Commit, CommitId, DocumentId, Operation


def a_commit(seq: int, *operations: Operation, reason: str = "write", message: str = "", author: str = "") -> Commit:
    return Commit(
        seq=seq,
        id=CommitId(f"id-{seq}"),
        parent=CommitId(""),
        at="2026-03-01T10:00:00.250Z",
        actor="agent",
        reason=reason,
        message=message,
        author=author,
        operations=operations,
    )


def wrote(path: str, checksum: str) -> Operation:
    return Operation(kind="updated", path=path, document_id=DocumentId(path), checksum_sha256=checksum)


def deleted(path: str) -> Operation:
    return Operation(kind="deleted", path=path, document_id=DocumentId(path))


def moved(old: str, new: str, checksum: str) -> Operation:
    return Operation(kind="renamed", path=new, old_path=old, document_id=DocumentId(new), checksum_sha256=checksum)


PATHS = st.sampled_from(["a", "b", "c", "d"])
SUMS = st.sampled_from(["1", "2", "3"])
OPERATIONS = st.builds(wrote, PATHS, SUMS) | st.builds(deleted, PATHS) | st.builds(moved, PATHS, PATHS, SUMS)


@given(st.lists(st.lists(OPERATIONS, max_size=3), max_size=30), st.integers(1, 10))
def test_a_fold_hides_no_version_and_keeps_the_order(batches: list[list[Operation]], most: int) -> None:
    commits = [a_commit(seq, *operations) for seq, operations in enumerate(batches, 1)]
    groups = list(folds(commits, most))
    assert [commit for group in groups for commit in group] == commits
    for group in groups:
        assert 0 < len(group) <= most
        after: dict[str, str] = {}
        for commit in group:
            for path, checksum in effects_of(commit.operations).items():
                assert after.setdefault(path, checksum) == checksum


def test_a_delete_and_a_move_come_before_what_is_put() -> None:
    operations = [wrote("a", "1"), moved("a", "b", "2"), deleted("b")]
    assert effects_of(operations) == {"a": "1", "b": "2"}


@given(st.text(), st.text(), st.integers(1, 4))
def test_the_trailers_are_read_back_whatever_the_message_says(reason: str, message: str, number: int) -> None:
    group = [a_commit(seq, reason=reason, message=message) for seq in range(1, number + 1)]
    assert trailers_of(message_of(group)) == [commit.id for commit in group]


def test_a_trailer_in_the_middle_of_a_message_is_only_text() -> None:
    forged = a_commit(1, message="Limen-Commit: id-99\n\nand so on")
    assert trailers_of(message_of([forged])) == ["id-1"]
    assert trailers_of("subject\n\nbody\nLimen-Commit: id-99\n") == []
    assert trailers_of("") == []


@given(st.text(), st.text(min_size=1))
def test_a_name_can_not_leave_its_line(author: str, email: str) -> None:
    name, mail = person_of(a_commit(1, author=author))
    line = signed((name, mail), "2026-03-01T10:00:00.250Z")
    assert line.count("<") == line.count(">") == 1
    assert "\n" not in line
    assert line.endswith("> 1772359200 +0000")
