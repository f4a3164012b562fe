"""Rows between their answer and the chain: none is lost and none is told twice, whoever dies, deletes or cuts in."""

import asyncio
import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from limen.db.hubsql import HUB_STEPS
from limen.db.migrations import migrate
from limen.db.sqlite import connect, transaction
from limen.errors import AuditUnavailable, StoreUnavailable
from limen.governance.audit import open_audit
from limen.governance.auditchain import Chain
from limen.governance.auditlog import AuditLog
from limen.governance.auditrow import RowWriter
from limen.governance.auditspool import MAX_WAITING_BYTES, ROTATE_BYTES, Spool, claimed
from tests.contract.audit_samples import (
    DONE,
    RULE,
    a_call,
    a_capability,
    acknowledged,
    hear,
    locked,
    notes_of,
    phases_of,
    record,
    refusing_database,
    remove,
    room_for,
    rows_of,
    spools_beside,
    start_driver,
    until,
)
from tests.environment import ROOT
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

BOTH = ["intent", "outcome"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trail with one call on record, whose process has left."""
    path = tmp_path / "hub.db"
    with closing(connect(path)) as db:
        migrate(db, HUB_STEPS)
        chain = Chain(db)
        with chain.transaction():
            chain.append(some_rows(1))
    return path


def some_rows(calls: int) -> list[bytes]:
    writer = RowWriter("7")
    both = [writer.both(a_call(), a_capability(), RULE, 0, DONE, 1) for _ in range(calls)]
    return b"".join(both).splitlines()


def ids_of(rows: list[bytes]) -> list[str]:
    return [json.loads(row)["id"] for row in rows]


def leave_spool(path: Path, content: bytes, *, moved: int | None = None) -> Path:
    """What a process leaves that was killed after so much of its spool was moved."""
    spool = path.with_name(f"{path.name}.{os.urandom(4).hex()}.spool")
    spool.write_bytes(content)
    if moved is not None:
        with closing(connect(path)) as db, transaction(db):
            db.execute("insert into audit_spool values (?, ?)", (spool.name, moved))
    return spool


async def by_reading(path: Path) -> None:
    AuditLog(path).list()


async def by_following(path: Path) -> None:
    lines = AuditLog(path).follow()
    await anext(lines)
    await lines.aclose()


async def by_opening(path: Path) -> None:
    async with open_audit(path) as trail:
        await trail.flush()


Recovery = Callable[[Path], Awaitable[None]]
recoveries = pytest.mark.parametrize("recover", [by_reading, by_following, by_opening])


def killed_while_spooling(path: Path, calls: int) -> list[str]:
    """Have a process killed with rows in its spool only, and return the calls it had answered."""
    with locked(path):
        with start_driver(path, 1_000_000, "reads") as process:
            ids = hear(process, calls)
            process.kill()
            ids += acknowledged(process)
        assert not phases_of(path).keys() & set(ids)
    return ids


@requirement("audit.survives-kill")
@pytest.mark.timeout(30)
@recoveries
async def test_reads_of_a_killed_process_are_brought_home(path: Path, recover: Recovery) -> None:
    ids = killed_while_spooling(path, 100)
    await recover(path)
    phases = phases_of(path)
    assert {call_id: phases.get(call_id) for call_id in ids} == dict.fromkeys(ids, BOTH)
    assert AuditLog(path).verify().ok
    assert (spools_beside(path), notes_of(path)) == ([], {})


def start_finder(path: Path) -> "subprocess.Popen[bytes]":
    """A process that reads the trail once its stdin is closed."""
    script = (
        "import sys; from pathlib import Path; from limen.governance.auditlog import AuditLog\n"
        "sys.stdin.read(); sys.exit(not AuditLog(Path(sys.argv[1])).verify().ok)"
    )
    return subprocess.Popen([sys.executable, "-c", script, str(path)], cwd=ROOT, stdin=subprocess.PIPE)


@requirement("audit.survives-kill", "audit.many-writers")
@pytest.mark.timeout(60)
async def test_several_who_recover_at_once_tell_each_row_once(path: Path) -> None:
    ids = [call_id for _ in range(3) for call_id in killed_while_spooling(path, 200)]
    finders = [start_finder(path) for _ in range(4)]
    for finder in finders:
        assert finder.stdin is not None
        finder.stdin.close()
    assert [finder.wait(20) for finder in finders] == [0, 0, 0, 0]
    phases = phases_of(path)
    assert {call_id: phases.get(call_id) for call_id in ids} == dict.fromkeys(ids, BOTH)
    assert AuditLog(path).verify().rows == 2 * len(phases)
    assert (spools_beside(path), notes_of(path)) == ([], {})


@recoveries
async def test_a_process_killed_after_the_commit_and_before_it_removed_its_spool(path: Path, recover: Recovery) -> None:
    rows = some_rows(3)
    content = b"".join(row + b"\n" for row in rows)
    with closing(connect(path)) as db:
        chain = Chain(db)
        with chain.transaction():
            chain.append(rows)
    leave_spool(path, content, moved=len(content))
    before = rows_of(path)
    await recover(path)
    assert rows_of(path) == before
    assert (spools_beside(path), notes_of(path)) == ([], {})


@recoveries
async def test_what_was_moved_is_not_moved_again_and_the_rest_is(path: Path, recover: Recovery) -> None:
    rows = some_rows(3)
    moved = len(rows[0]) + len(rows[1]) + 2
    leave_spool(path, b"".join(row + b"\n" for row in rows), moved=moved)
    await recover(path)
    assert ids_of(rows)[2:] == [row["id"] for row in rows_of(path)][2:]


@recoveries
async def test_half_a_row_at_the_end_is_nobodys(path: Path, recover: Recovery) -> None:
    rows = some_rows(2)
    leave_spool(path, b"".join(row + b"\n" for row in rows[:3]) + rows[3][:-5])
    await recover(path)
    assert [row["id"] for row in rows_of(path)][2:] == ids_of(rows)[:3]
    assert spools_beside(path) == []


@pytest.mark.parametrize(
    "content", [b"", b"half a row", b"\n\n\n", bytes(5000), bytes(5000) + b"\n", b"\xff\xfe\n[1]\n"]
)
@recoveries
async def test_what_is_no_row_is_left_out(path: Path, content: bytes, recover: Recovery) -> None:
    rows = some_rows(1)
    leave_spool(path, content)
    leave_spool(path, b"".join(row + b"\n" for row in rows) + content)
    await recover(path)
    assert [row["id"] for row in rows_of(path)][2:] == ids_of(rows)
    assert spools_beside(path) == []
    assert AuditLog(path).verify().ok


async def test_a_spool_shorter_than_its_note_has_nothing_to_tell(path: Path) -> None:
    # After a power cut: the chain is on disk to the last byte, and the spool, which nobody synced, is not.
    rows = some_rows(1)
    leave_spool(path, b"".join(row + b"\n" for row in rows), moved=10_000)
    before = rows_of(path)
    AuditLog(path).list()
    assert rows_of(path) == before
    assert (spools_beside(path), notes_of(path)) == ([], {})


async def test_a_spool_of_any_length_is_brought_home_in_order(path: Path) -> None:
    rows = some_rows(3_000)
    content = b"".join(row + b"\n" for row in rows)
    assert len(content) > 2 * 512 * 1024
    leave_spool(path, content)
    AuditLog(path).list()
    assert [row["id"] for row in rows_of(path)][2:] == ids_of(rows)


@recoveries
async def test_what_cannot_be_read_as_a_spool_is_in_nobodys_way(path: Path, recover: Recovery) -> None:
    rows = some_rows(1)
    path.with_name("hub.db.0.spool").mkdir()
    path.with_name("hub.db.1.spool").symlink_to("nowhere")
    leave_spool(path, b"".join(row + b"\n" for row in rows))
    await recover(path)
    assert [row["id"] for row in rows_of(path)][2:] == ids_of(rows)


async def test_while_the_database_takes_no_rows_orphans_wait(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = some_rows(2)
    leave_spool(path, b"".join(row + b"\n" for row in rows))
    with refusing_database(path):
        assert len(AuditLog(path).list()) == 1
        assert "audit rows of a dead process are not in the trail yet" in caplog.messages
        async with open_audit(path) as trail:
            with pytest.raises(AuditUnavailable):
                await trail.flush()
    AuditLog(path).list()
    assert [row["id"] for row in rows_of(path)][2:] == ids_of(rows)


@recoveries
async def test_orphans_of_a_database_that_is_gone_are_told_in_a_new_one(path: Path, recover: Recovery) -> None:
    rows = some_rows(2)
    leave_spool(path, b"".join(row + b"\n" for row in rows), moved=len(rows[0]) + 1)
    remove(path)
    await recover(path)
    assert [row["id"] for row in rows_of(path)] == ids_of(rows)
    assert AuditLog(path).verify().ok


@recoveries
async def test_the_spool_of_a_living_process_is_left_alone(path: Path, recover: Recovery) -> None:
    async with open_audit(path, patience_s=0.05) as trail:
        await trail.flush()
        with locked(path):
            call = await record(trail)
            (spool,) = spools_beside(path)
            content = spool.read_bytes()
            with claimed(spool) as orphan:
                assert orphan is None
            AuditLog(path).list()
            assert spool.read_bytes() == content
        await recover(path)
        assert spools_beside(path) == [spool]
        await trail.flush()
    assert phases_of(path)[call.id] == BOTH


async def test_leaving_removes_the_spool_and_every_trace_of_it(path: Path) -> None:
    async with open_audit(path) as trail:
        calls = [await record(trail) for _ in range(5)]
        assert len(spools_beside(path)) == 1
    assert (spools_beside(path), notes_of(path)) == ([], {})
    phases = phases_of(path)
    assert [phases[call.id] for call in calls] == [BOTH] * 5


async def test_what_cannot_be_moved_at_shutdown_waits_for_the_next_start(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_audit(path, patience_s=0.05) as trail:
        await trail.flush()
        unfinished = a_call()
        with refusing_database(path):
            done = await record(trail)
            trail.intent(unfinished, a_capability(), RULE)
            await trail.aclose()
    assert "audit rows wait in the spool for the next start" in caplog.messages
    assert len(spools_beside(path)) == 1
    await by_opening(path)
    phases = phases_of(path)
    assert (phases[done.id], phases[unfinished.id]) == (BOTH, ["intent"])
    assert (spools_beside(path), notes_of(path)) == ([], {})


async def test_a_long_spool_is_followed_by_a_new_one_under_steady_load(path: Path) -> None:
    arguments = b'{"q":"' + b"x" * 16_000 + b'"}'
    calls: list[str] = []
    seen: set[Path] = set()
    async with open_audit(path, "redacted") as trail:
        while len(seen) < 3:
            calls.append((await record(trail, call=a_call(arguments=arguments))).id)
            seen.update(spools_beside(path))
            await asyncio.sleep(0)
        assert len(calls) * 2 * len(arguments) > 2 * ROTATE_BYTES
        await trail.flush()
        await until(lambda: len(spools_beside(path)) == 1)
        await until(lambda: notes_of(path).keys() <= {spool.name for spool in spools_beside(path)})
    order = [row["id"] for row in rows_of(path)][2:]
    assert order == [call_id for call_id in calls for _ in BOTH]
    assert AuditLog(path).verify().ok


async def test_a_database_deleted_under_a_running_trail_is_filled_anew_and_once(path: Path) -> None:
    async with open_audit(path) as trail:
        first = await record(trail)
        await trail.flush()
        remove(path)
        second = await record(trail)
        await trail.flush()
        # What the living process still has in its spool is told again, once.
        assert [row["id"] for row in rows_of(path)] == [first.id, first.id, second.id, second.id]
        third = await record(trail)
        await trail.flush()
        remove(path)
    phases = phases_of(path)
    assert phases == dict.fromkeys([first.id, second.id, third.id], BOTH)
    assert AuditLog(path).verify().ok


async def test_an_older_copy_of_the_database_is_brought_up_to_date(path: Path) -> None:
    async with open_audit(path) as trail:
        calls = [await record(trail)]
        await trail.flush()
        with closing(connect(path)) as db:
            db.execute("vacuum into ?", (str(path.with_name("copy")),))
        calls.append(await record(trail))
        await trail.flush()
        remove(path)
        path.with_name("copy").rename(path)
        calls.append(await record(trail))
        await trail.flush()
        assert [row["id"] for row in rows_of(path)][2:] == [call.id for call in calls for _ in BOTH]
        assert AuditLog(path).verify().ok


@pytest.mark.parametrize("mischief", ["removed", "cut short", "added to"])
async def test_a_spool_that_others_lay_hands_on_is_given_up_for_a_new_one(
    path: Path, mischief: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_audit(path) as trail:
        calls = [await record(trail)]
        await trail.flush()
        while not spools_beside(path):
            # When the disk stalls, rows may go to the database without one.
            calls.append(await record(trail))
            await trail.flush()
        (spool,) = spools_beside(path)
        if mischief == "removed":
            spool.unlink()
        elif mischief == "cut short":
            os.truncate(spool, 0)
        else:
            with spool.open("ab") as file:
                file.write(b"scribble\n")
        trail.intent(a_call(), a_capability(), RULE)  # has the spool looked after
        await until(lambda: "audit spool was changed or removed by others" in caplog.messages)
        calls.append(await record(trail))
        await trail.flush()
        await until(lambda: spool not in spools_beside(path))
    phases = phases_of(path)
    assert [phases[call.id] for call in calls] == [BOTH] * len(calls)
    assert AuditLog(path).verify().ok


async def test_rows_in_a_spool_that_was_removed_still_reach_the_chain(path: Path) -> None:
    async with open_audit(path) as trail:
        await trail.flush()
        with locked(path):
            call = await record(trail)
            (spool,) = spools_beside(path)
            spool.unlink()
        await trail.flush()
        assert phases_of(path)[call.id] == BOTH


async def test_rows_that_others_cut_off_are_missed_aloud_and_hold_up_nobody(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_audit(path) as trail:
        await trail.flush()
        with locked(path):
            lost = await record(trail)
            (spool,) = spools_beside(path)
            os.truncate(spool, 10)
            spliced = await record(trail)
        await trail.flush()
        write = await record(trail, action="write")
    assert "audit spool is damaged" in caplog.messages
    phases = phases_of(path)
    assert (phases.get(lost.id), phases[spliced.id], phases[write.id]) == (None, ["outcome"], BOTH)
    assert len(AuditLog(path).list()) == 3


async def test_where_files_cannot_be_locked_reads_go_the_way_of_writes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    async with open_audit(path) as trail:
        call = await record(trail)
        assert phases_of(path)[call.id] == BOTH
        slow = a_call()
        trail.intent(slow, a_capability(), RULE)
        await until(lambda: slow.id in phases_of(path))
        assert spools_beside(path) == []
    monkeypatch.undo()
    rows = some_rows(1)
    leave_spool(path, b"".join(row + b"\n" for row in rows))
    monkeypatch.setattr(fcntl, "flock", refuse)
    assert len(AuditLog(path).list()) == 3
    assert len(spools_beside(path)) == 1


async def test_a_spool_taken_for_an_orphan_when_it_is_new_is_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: int, operation: int) -> None:
        raise BlockingIOError

    async with open_audit(path) as trail:
        await trail.flush()
        monkeypatch.setattr(fcntl, "flock", refuse)
        first = await record(trail)
        assert phases_of(path)[first.id] == BOTH
        monkeypatch.undo()
        second = await record(trail)
        AuditLog(path).list()  # finds the one that is nobody's
        assert len(spools_beside(path)) == 1
        await trail.flush()
        assert phases_of(path)[second.id] == BOTH


def test_no_more_rows_are_spooled_than_may_wait(path: Path) -> None:
    spool = Spool(path)
    line = b"x" * (1024 * 1024 - 1) + b"\n"
    for _ in range(MAX_WAITING_BYTES // len(line)):
        spool.append(line, 1)
    with pytest.raises(AuditUnavailable):
        spool.append(line, 1)
    (mark,) = spool.take_marks()
    spool.note_moved(mark)
    spool.append(line, 1)
    assert spool.waiting == 1
    spool.abandon()


def test_a_row_is_spooled_as_a_whole_or_not_at_all(path: Path) -> None:
    spool = Spool(path)
    rows = some_rows(1)
    spool.append(rows[0] + b"\n", 1)
    (mark,) = spool.take_marks()
    with room_for(mark.end + 20), pytest.raises(StoreUnavailable):
        spool.append(rows[1] + b"\n", 1)
    (file,) = spools_beside(path)
    assert file.read_bytes() == rows[0] + b"\n"
    spool.append(rows[1] + b"\n", 1)
    assert file.read_bytes().splitlines() == rows
    spool.abandon()
