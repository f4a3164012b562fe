"""What the road may rely on of whoever keeps its record, shown on the one there is: the trail in SQLite."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from limen.calls.call import ActionClass, Call, Caller, Capability, Outcome, Result, Subject
from limen.calls.pipeline import Pipeline
from limen.calls.ports import Audit
from limen.errors import AuditUnavailable
from limen.governance.approvals import NoApprover
from limen.governance.audit import AuditTrail, open_audit
from limen.governance.auditlog import AuditLog
from limen.governance.policy import LocalPolicy
from tests.contract.audit_samples import (
    DONE,
    RULE,
    Shelf,
    a_call,
    a_capability,
    acknowledged,
    full_disk,
    hear,
    locked,
    phases_of,
    record,
    refusing_database,
    remove,
    rows_of,
    spools_beside,
    start_driver,
    until,
)
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "hub.db"


@pytest.fixture
async def trail(path: Path) -> AsyncGenerator[AuditTrail]:
    async with open_audit(path) as trail:
        await record(trail, action="write")  # from here on the database is there and open
        yield trail


def a_road(audit: Audit, shelf: Shelf) -> Pipeline:
    return Pipeline([shelf], LocalPolicy(), NoApprover(), audit)


async def kept(promise: Awaitable[None] | None) -> None:
    assert promise is not None
    await promise


@requirement("audit.intent-and-outcome")
@pytest.mark.parametrize("action", ["read", "write", "external", "destructive"])
async def test_a_call_leaves_an_intent_and_then_an_outcome(path: Path, action: ActionClass) -> None:
    shelf = Shelf(a_capability("thing", action=action))
    async with open_audit(path) as trail:
        call = a_call("thing", arguments=b'{"a":1}')
        await a_road(trail, shelf).run(call)
    intent, outcome = rows_of(path)
    common = {
        "id": call.id,
        "subject": "alice",
        "client": "tests/1",
        "method": "tools/call",
        "kind": "tool",
        "server": "hub",
        "name": "thing",
        "class": action,
        "args": "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862",
        "rule": RULE,
    }
    assert common.items() <= intent.items()
    assert common.items() <= outcome.items()
    assert (intent["phase"], outcome["phase"], outcome["status"], outcome["bytes_out"]) == (
        "intent",
        "outcome",
        "ok",
        2,
    )
    assert intent["at"] <= outcome["at"]


@requirement("audit.intent-and-outcome")
async def test_an_intent_to_change_something_is_on_record_before_it_may_happen(trail: AuditTrail, path: Path) -> None:
    call = a_call()
    await kept(trail.intent(call, a_capability(action="write"), RULE))
    assert rows_of(path)[-1]["id"] == call.id
    assert rows_of(path)[-1]["phase"] == "intent"


@requirement("audit.intent-and-outcome")
async def test_a_read_is_out_of_our_hands_when_its_outcome_has_been_taken(trail: AuditTrail, path: Path) -> None:
    call = a_call()
    assert trail.intent(call, a_capability(), RULE) is None
    assert trail.outcome(call, a_capability(), DONE) is None
    (spool,) = spools_beside(path)
    assert [json.loads(line)["phase"] for line in spool.read_bytes().splitlines()] == ["intent", "outcome"]
    await trail.flush()
    assert phases_of(path)[call.id] == ["intent", "outcome"]
    assert trail.pending == 0


@requirement("audit.intent-and-outcome")
async def test_reads_reach_the_database_by_themselves(trail: AuditTrail, path: Path) -> None:
    call = await record(trail)
    await until(lambda: trail.pending == 0)
    assert phases_of(path)[call.id] == ["intent", "outcome"]


async def test_a_flush_waits_for_the_intents_of_calls_that_run(trail: AuditTrail, path: Path) -> None:
    read, write = a_call(), a_call()
    trail.intent(read, a_capability(), RULE)
    trail.intent(write, a_capability(action="write"), RULE)
    await trail.flush()
    assert (phases_of(path)[read.id], phases_of(path)[write.id]) == (["intent"], ["intent"])
    trail.outcome(read, a_capability(), DONE)
    await trail.flush()
    assert phases_of(path)[read.id] == ["intent", "outcome"]


async def test_a_slow_read_is_seen_running_and_its_intent_is_written_once(trail: AuditTrail, path: Path) -> None:
    call = a_call()
    trail.intent(call, a_capability(), RULE)
    lines = AuditLog(path).follow()
    seen = [await anext(lines), await anext(lines)]
    assert [line.status for line in seen] == ["ok", "running"]
    assert trail.outcome(call, a_capability(), DONE) is None
    last = await anext(lines)
    await lines.aclose()
    assert (last.id, last.status) == (call.id, "ok")
    assert [row["phase"] for row in rows_of(path) if row["id"] == call.id] == ["intent", "outcome"]


@pytest.mark.parametrize(
    ("capability", "outcome"),
    [
        (None, Outcome("not_found", "not_found")),
        (a_capability(), Outcome("denied", "denied", "no-reads")),
        (a_capability(action="write"), Outcome("denied", "denied", "no-writes")),
    ],
)
async def test_a_call_that_was_refused_leaves_its_outcome(
    trail: AuditTrail, path: Path, capability: Capability | None, outcome: Outcome
) -> None:
    call = a_call()
    promise = trail.outcome(call, capability, outcome)
    if promise is not None:
        await promise
    await trail.flush()
    (row,) = [row for row in rows_of(path) if row["id"] == call.id]
    assert (row["phase"], row["status"], row["code"], row["rule"]) == (
        "outcome",
        outcome.status,
        outcome.code,
        outcome.rule,
    )


class Hanging(Shelf):
    """Starts and never ends."""

    def __init__(self, capability: Capability) -> None:
        super().__init__(capability)
        self.started = asyncio.Event()

    async def run(self, call: Call, capability: Capability) -> Result:
        self.started.set()
        await asyncio.Event().wait()
        return Result(b"{}")


@requirement("audit.cancelled-recorded")
@pytest.mark.parametrize("action", ["read", "write"])
async def test_a_cancelled_call_is_still_recorded(trail: AuditTrail, path: Path, action: ActionClass) -> None:
    shelf = Hanging(a_capability("slow", action=action))
    call = a_call("slow")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(a_road(trail, shelf).run(call))
        await shelf.started.wait()
        task.cancel()
    await trail.flush()
    rows = [row for row in rows_of(path) if row["id"] == call.id]
    assert [row["phase"] for row in rows] == ["intent", "outcome"]
    assert rows[-1]["status"] == "cancelled"


@requirement("audit.cancelled-recorded")
async def test_rows_handed_over_by_a_caller_who_hung_up_are_kept(path: Path) -> None:
    async with open_audit(path) as trail:
        call, capability = a_call(), a_capability(action="write")
        for promise in (trail.intent(call, capability, RULE), trail.outcome(call, capability, DONE)):
            assert isinstance(promise, asyncio.Future)
            promise.cancel()
    assert [row["phase"] for row in rows_of(path)] == ["intent", "outcome"]


async def test_while_others_write_rows_wait_their_turn_off_the_loop(trail: AuditTrail, path: Path) -> None:
    read, write = a_call(), a_call()
    with locked(path):
        trail.intent(read, a_capability(), RULE)
        trail.outcome(read, a_capability(), DONE)
        promise = trail.intent(write, a_capability(action="write"), RULE)
        assert trail.pending == 3
        assert not {read.id, write.id} & phases_of(path).keys()
    await kept(promise)
    assert [row["id"] for row in rows_of(path)][-3:] == [read.id, read.id, write.id]
    assert trail.last_error is None


async def test_what_was_answered_before_a_write_precedes_it_in_the_chain(trail: AuditTrail, path: Path) -> None:
    reads: list[str] = []
    before: dict[str, list[str]] = {}
    writes: list[Awaitable[None]] = []
    for _ in range(40):
        reads += [(await record(trail)).id, (await record(trail)).id]
        write = a_call()
        promise = trail.intent(write, a_capability(action="write"), RULE)
        assert promise is not None
        writes.append(promise)
        before[write.id] = list(reads)
        await asyncio.sleep(0)
    for promise in writes:
        await promise
    place = {row["id"]: number for number, row in enumerate(rows_of(path))}
    for write_id, earlier in before.items():
        assert all(place[read_id] < place[write_id] for read_id in earlier)
    for order in (reads, list(before)):
        assert sorted(order, key=place.__getitem__) == order


@requirement("audit.unwritable-refuses")
async def test_rows_that_others_keep_from_being_written_are_refused_in_time(path: Path) -> None:
    async with open_audit(path, patience_s=0.05) as trail:
        await record(trail, action="write")
        with locked(path):
            with pytest.raises(AuditUnavailable):
                await record(trail, action="write")
            read = await record(trail)
            with pytest.raises(AuditUnavailable):
                await trail.flush()
            assert trail.last_error is not None
        await record(trail, action="write")
        assert trail.last_error is None
        assert phases_of(path)[read.id] == ["intent", "outcome"]
    assert AuditLog(path).verify().ok


Break = Callable[[Path], AbstractContextManager[None]]


@requirement("audit.unwritable-refuses")
@pytest.mark.parametrize("broken", [full_disk, refusing_database])
async def test_without_a_record_nothing_is_changed(trail: AuditTrail, path: Path, broken: Break) -> None:
    shelf = Shelf(a_capability(action="write"))
    with broken(path), pytest.raises(AuditUnavailable):
        await a_road(trail, shelf).run(a_call())
    assert shelf.runs == 0


@requirement("audit.unwritable-reads")
async def test_without_a_record_reads_go_on_and_the_loss_is_logged(
    trail: AuditTrail, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(a_capability())
    with full_disk(path):
        await a_road(trail, shelf).run(a_call())
        assert trail.last_error is not None
    assert shelf.runs == 1
    logged = {record.message for record in caplog.records if record.levelno >= logging.ERROR}
    assert logged == {"audit trail cannot be written", "audit outcome lost"}


@requirement("audit.unwritable-reads")
@pytest.mark.parametrize("broken", [locked, refusing_database])
async def test_while_the_database_takes_no_rows_reads_wait_in_the_spool(path: Path, broken: Break) -> None:
    async with open_audit(path, patience_s=0.05) as trail:
        await record(trail, action="write")
        with broken(path):
            calls = [await record(trail) for _ in range(20)]
            with pytest.raises(AuditUnavailable):
                await trail.flush()
            assert (trail.pending, trail.last_error is None) == (40, False)
        await trail.flush()
        assert (trail.pending, trail.last_error) == (0, None)
    phases = phases_of(path)
    assert [phases[call.id] for call in calls] == [["intent", "outcome"]] * 20


async def test_rows_in_the_spool_are_tried_again_without_being_asked(trail: AuditTrail, path: Path) -> None:
    with refusing_database(path):
        call = await record(trail)
        await until(lambda: trail.last_error is not None)
    await until(lambda: trail.pending == 0)
    assert phases_of(path)[call.id] == ["intent", "outcome"]


async def test_the_outcome_of_a_write_is_kept_even_when_the_database_will_not_have_it(
    trail: AuditTrail, path: Path
) -> None:
    call, capability = a_call(), a_capability(action="write")
    await kept(trail.intent(call, capability, RULE))
    with refusing_database(path):
        await kept(trail.outcome(call, capability, DONE))
        assert phases_of(path)[call.id] == ["intent"]
    await trail.flush()
    assert phases_of(path)[call.id] == ["intent", "outcome"]


@requirement("audit.unwritable-refuses")
@pytest.mark.parametrize("broken", [full_disk, refusing_database])
async def test_the_trail_recovers_by_itself(trail: AuditTrail, path: Path, broken: Break) -> None:
    with broken(path), pytest.raises(AuditUnavailable):
        await record(trail, action="write")
    write = await record(trail, action="write")
    read = a_call()
    assert trail.intent(read, a_capability(), RULE) is None
    assert trail.outcome(read, a_capability(), DONE) is None
    await trail.flush()
    assert trail.last_error is None
    assert [row["id"] for row in rows_of(path)][-4:] == [write.id, write.id, read.id, read.id]
    assert AuditLog(path).verify().ok


def put_a_foreign_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database " * 500)


@requirement("audit.unwritable-refuses")
async def test_a_file_that_is_no_database_is_refused_until_it_is_gone(path: Path) -> None:
    put_a_foreign_file(path)
    async with open_audit(path) as trail:
        with pytest.raises(AuditUnavailable):
            await record(trail, action="write")
        read = await record(trail)
        with pytest.raises(AuditUnavailable):
            await trail.flush()
        remove(path)
        await record(trail, action="write")
    assert phases_of(path)[read.id] == ["intent", "outcome"]
    assert AuditLog(path).verify().ok


async def test_a_database_deleted_under_a_running_trail_is_made_anew(
    trail: AuditTrail, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remove(path)
    write = await record(trail, action="write")
    read = await record(trail)
    await trail.flush()
    assert [row["id"] for row in rows_of(path)] == [write.id, write.id, read.id, read.id]
    assert "audit database was replaced" in caplog.messages


async def test_leaving_keeps_every_row_and_no_thread(path: Path) -> None:
    before = threading.active_count()
    async with open_audit(path) as trail:
        unfinished = a_call()
        trail.intent(unfinished, a_capability(), RULE)
        for _ in range(100):
            trail.intent(a_call(), a_capability(action="write"), RULE)
        assert trail.pending == 101
    assert (trail.pending, threading.active_count()) == (0, before)
    assert len(rows_of(path)) == 101
    with pytest.raises(AuditUnavailable):
        trail.intent(a_call(), a_capability(), RULE)


async def test_the_database_is_its_owners_alone(trail: AuditTrail, path: Path) -> None:
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


@requirement("audit.redacted")
async def test_no_secret_of_a_call_reaches_a_row(path: Path) -> None:
    secret = "hunter2hunter2"
    caller = Caller(Subject("alice"), client="tests")
    calls = [
        a_call("connect", arguments=f'{{"password":"{secret}","note":"Bearer {secret}"}}'.encode(), caller=caller),
        a_call(f"https://alice:{secret}@example.org/", method="resources/read", kind="resource", caller=caller),
    ]
    for arguments in ("digest", "redacted"):
        async with open_audit(path, arguments) as trail:
            for call in calls:
                await record(trail, call=call)
    rows = rows_of(path)
    assert secret not in str(rows)
    assert rows[-3]["args"] == {"password": "[redacted]", "note": "Bearer [redacted]"}


@requirement("audit.many-writers")
@pytest.mark.timeout(40)
async def test_several_processes_write_one_trail(path: Path) -> None:
    processes = [start_driver(path, 50) for _ in range(4)]
    ids = [call_id for process in processes for call_id in acknowledged(process)]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert len(ids) == 800
    rows = rows_of(path)
    assert sorted(row["id"] for row in rows if row["phase"] == "outcome") == sorted(ids)
    report = AuditLog(path).verify()
    assert (report.ok, report.rows) == (True, 1600)


@requirement("audit.survives-kill")
@pytest.mark.timeout(40)
async def test_no_acknowledged_row_is_lost_when_the_process_is_killed(path: Path) -> None:
    for heard_before in (1, 60, 200):
        with start_driver(path, 1_000_000) as process:
            ids = hear(process, heard_before)
            process.kill()
            ids += acknowledged(process)
        assert AuditLog(path).verify().ok
        phases = phases_of(path)
        assert {call_id: phases.get(call_id) for call_id in ids} == {key: ["intent", "outcome"] for key in ids}
