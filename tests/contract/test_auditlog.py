"""What can be read back from the trail: lines by filter, news as they come, and whether the chain holds."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limen.calls.call import Caller, Outcome, Subject
from limen.clock import now_ms
from limen.db.hubsql import HUB_STEPS
from limen.db.migrations import migrate
from limen.db.sqlite import Connection, connect, transaction
from limen.errors import AuditBroken, NotFound, StoreUnavailable
from limen.governance.audit import AuditTrail, open_audit
from limen.governance.auditchain import Chain
from limen.governance.auditlog import AuditLog, LogFilter
from limen.governance.auditverify import verify_chain
from tests.contract.audit_samples import RULE, a_call, a_capability, record, rows_of, tamper
from tests.environment import ROOT
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hub.db"


@pytest.fixture
async def trail(path: Path) -> AsyncGenerator[AuditTrail]:
    async with open_audit(path) as trail:
        yield trail


@requirement("audit.logs")
async def test_calls_are_listed_newest_first_one_line_each(trail: AuditTrail, path: Path) -> None:
    calls = [await record(trail, action="write") for _ in range(5)]
    lines = AuditLog(path).list(LogFilter(limit=3))
    assert [line.id for line in lines] == [call.id for call in reversed(calls)][:3]
    line = lines[0]
    assert (line.subject, line.method, line.server, line.name) == ("alice", "tools/call", "hub", "search")
    assert (line.action, line.rule, line.status, line.duration_ms, line.bytes_out) == ("write", RULE, "ok", 1.25, 42)


@requirement("audit.logs")
async def test_each_filter_keeps_what_it_names(trail: AuditTrail, path: Path) -> None:
    bob = Caller(Subject("bob"))
    wanted = {
        "tool": await record(trail, call=a_call("delete_all"), action="destructive"),
        "method": await record(trail, call=a_call(method="prompts/get", kind="prompt")),
        "identity": await record(trail, call=a_call(caller=bob)),
        "errors": await record(trail, outcome=Outcome("error", "timeout")),
        "tool_error": await record(trail, outcome=Outcome("tool_error")),
    }
    await trail.flush()
    log = AuditLog(path)

    def found(filters: LogFilter) -> set[str]:
        return {name for line in log.list(filters) for name, call in wanted.items() if call.id == line.id}

    assert found(LogFilter(tool="delete_*")) == {"tool"}
    assert found(LogFilter(method="prompts/get")) == {"method"}
    assert found(LogFilter(identity="bob")) == {"identity"}
    assert found(LogFilter(errors_only=True)) == {"errors", "tool_error"}
    assert found(LogFilter(server="hub")) == set(wanted)
    assert found(LogFilter(server="elsewhere")) == set()
    assert found(LogFilter(since_ms=0)) == set(wanted)
    assert found(LogFilter(since_ms=now_ms() + 60_000)) == set()
    assert found(LogFilter(tool="search", identity="alice", errors_only=True)) == {"errors", "tool_error"}


def begin_and_die(path: Path) -> None:
    """Another process records an intent and is gone before there is an outcome."""
    script = (
        "import asyncio, os, sys; from pathlib import Path; from limen.governance.audit import open_audit\n"
        "from tests.contract.audit_samples import RULE, a_call, a_capability\n"
        "async def main():\n"
        "    async with open_audit(Path(sys.argv[1])) as trail:\n"
        "        await trail.intent(a_call('gone'), a_capability(action='write'), RULE)\n"
        "        os._exit(9)\n"
        "asyncio.run(main())"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=False, timeout=20)


@requirement("audit.logs")
async def test_a_call_without_an_outcome_is_running_until_its_process_is_gone(path: Path) -> None:
    async with open_audit(path) as trail:
        promise = trail.intent(a_call(), a_capability(action="write"), RULE)
        assert promise is not None
        await promise
        assert [line.status for line in AuditLog(path).list()] == ["running"]
    begin_and_die(path)
    assert [line.status for line in AuditLog(path).list(LogFilter(tool="gone"))] == ["unfinished"]
    assert [line.name for line in AuditLog(path).list(LogFilter(errors_only=True))] == ["gone"]


@requirement("audit.logs")
async def test_following_gives_the_latest_and_then_each_call_as_it_ends(trail: AuditTrail, path: Path) -> None:
    old = [await record(trail, action="write") for _ in range(3)]
    lines = AuditLog(path).follow(LogFilter(limit=2, tool="search"))
    assert [(await anext(lines)).id, (await anext(lines)).id] == [old[1].id, old[2].id]
    await record(trail, call=a_call("other"))
    new = [await record(trail), await record(trail, action="write")]
    assert [(await anext(lines)).id, (await anext(lines)).id] == [new[0].id, new[1].id]
    await lines.aclose()


async def test_following_may_begin_before_there_is_a_trail(path: Path) -> None:
    lines = AuditLog(path).follow()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(anext_of(lines))
        await asyncio.sleep(0)
        async with open_audit(path) as trail:
            call = await record(trail)
    assert first.result() == call.id
    await lines.aclose()


async def anext_of(lines: "AsyncGenerator[object]") -> str:
    return str(getattr(await anext(lines), "id", ""))


def test_without_a_trail_there_is_nothing_to_list_and_nothing_to_verify(path: Path) -> None:
    assert AuditLog(path).list() == []
    with pytest.raises(NotFound):
        AuditLog(path).verify()


def test_a_file_that_is_no_database_cannot_be_read(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)
    with pytest.raises(StoreUnavailable):
        AuditLog(path).list()


async def test_a_row_that_is_not_ours_is_named_and_not_hidden(path: Path) -> None:
    async with open_audit(path) as trail:
        await record(trail, action="write")
    tamper(path, ("update audit set body = 'scrawl' where seq = 2", ()))
    for filters in (LogFilter(), LogFilter(tool="search")):
        with pytest.raises(AuditBroken) as caught:
            AuditLog(path).list(filters)
        assert caught.value.facts == {"seq": 2}


@requirement("audit.chained")
async def test_an_untouched_trail_verifies(path: Path) -> None:
    async with open_audit(path) as trail:
        for _ in range(3):
            await record(trail, action="write")
            await record(trail)
        await trail.flush()
        report = AuditLog(path).verify()
    assert (report.ok, report.rows, report.first_bad_seq) == (True, 12, None)
    assert AuditLog(path).verify() == report


@requirement("audit.chained")
@pytest.mark.parametrize(
    ("mischief", "first_bad"),
    [
        ("update audit set body = replace(body, 'search', 'snitch') where seq = 3", 3),
        ("update audit set body = cast(x'ff' || body as text) where seq = 3", 3),
        ("update audit set hash = zeroblob(32) where seq = 3", 3),
        ("update audit set hash = 'text' where seq = 3", 3),
        ("delete from audit where seq = 3", 3),
        ("delete from audit where seq >= 5", 5),
        ("delete from audit", 1),
        ("update audit set seq = -seq where seq = 3", -3),
        ("update audit set seq = seq + 10 where seq = 6", 6),
        ("insert into audit (seq, hash, body) values (7, zeroblob(32), '{}')", 7),
        ("insert into audit (seq, hash, body) values (0, zeroblob(32), '{}')", 0),
        ("update audit_head set hash = zeroblob(32)", 6),
        ("update audit_head set seq = 4", 5),
        ("delete from audit_head", 7),
    ],
)
async def test_mischief_is_found_and_its_place_named(path: Path, mischief: str, first_bad: int) -> None:
    async with open_audit(path) as trail:
        for _ in range(3):
            await record(trail, action="write")
    tamper(path, (mischief, ()))
    report = AuditLog(path).verify()
    assert (report.ok, report.first_bad_seq) == (False, first_bad)
    assert report.reason


@requirement("audit.chained")
async def test_rows_deleted_from_the_end_stay_missed_when_the_trail_goes_on(path: Path) -> None:
    async with open_audit(path) as trail:
        await record(trail, action="write")
        await record(trail, action="write")
        tamper(path, ("delete from audit where seq >= 3", ()))
        await record(trail, action="write")
        await record(trail)
    report = AuditLog(path).verify()
    assert (report.ok, report.first_bad_seq) == (False, 3)


@requirement("audit.chained")
async def test_pages_that_were_overwritten_are_found(path: Path) -> None:
    async with open_audit(path) as trail:
        for _ in range(50):
            await record(trail, action="write")
    assert len(rows_of(path)) == 100
    scribble(path)
    assert not AuditLog(path).verify().ok


def scribble(path: Path) -> None:
    """Overwrite the leaves of the table, leaving SQLite's own header and schema as they are."""
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\x5a" * (len(content) - 4096 * 4)
    path.write_bytes(content)


BODIES = st.lists(st.binary(min_size=1, max_size=40).map(bytes.hex).map(str.encode), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Generator[Connection]:
    """One database for every example: making one anew for each would take minutes."""
    with closing(connect(tmp_path_factory.mktemp("chain") / "hub.db", synchronous="NORMAL")) as db:
        migrate(db, HUB_STEPS)
        yield db


def refill(db: Connection, batches: list[list[bytes]]) -> int:
    with transaction(db):
        db.execute("delete from audit; update audit_head set seq = 0, hash = zeroblob(32)")
    chain = Chain(db)
    for bodies in batches:
        with chain.transaction():
            chain.append(bodies)
    return sum(len(bodies) for bodies in batches)


@requirement("audit.chained")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(BODIES, max_size=4))
def test_any_rows_in_any_batches_verify(db: Connection, batches: list[list[bytes]]) -> None:
    count = refill(db, batches)
    report = verify_chain(db)
    assert (report.ok, report.rows, report.first_bad_seq) == (True, count, None)


@requirement("audit.chained")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(BODIES, min_size=1, max_size=3), data=st.data())
def test_any_single_change_is_found_and_its_place_named(
    db: Connection, batches: list[list[bytes]], data: st.DataObject
) -> None:
    count = refill(db, batches)
    seq = data.draw(st.integers(1, count), label="seq")
    change = data.draw(st.sampled_from(["body", "hash", "delete", "swap"]), label="change")
    if change in ("body", "hash"):
        flip(db, change, seq, data.draw(st.integers(0, 10_000), label="bit"))
    elif change == "delete":
        db.execute("delete from audit where seq = ?", (seq,))
    else:
        other = data.draw(st.integers(1, count).filter(lambda other: other != seq or count == 1), label="other")
        if other == seq:
            return
        swap(db, seq, other)
        seq = min(seq, other)
    report = verify_chain(db)
    assert (report.ok, report.first_bad_seq, report.rows) == (False, seq, seq - 1)


def flip(db: Connection, column: str, seq: int, bit: int) -> None:
    ((value,),) = db.execute(f"select cast({column} as blob) from audit where seq = ?", (seq,))
    changed = bytearray(value)
    changed[bit // 8 % len(changed)] ^= 1 << bit % 8
    as_text = "cast(? as text)" if column == "body" else "?"
    db.execute(f"update audit set {column} = {as_text} where seq = ?", (bytes(changed), seq))


def swap(db: Connection, one: int, other: int) -> None:
    """Each row keeps its hash and body and takes the other's place."""
    with transaction(db):
        db.execute("update audit set seq = -1 where seq = ?", (one,))
        db.execute("update audit set seq = ? where seq = ?", (one, other))
        db.execute("update audit set seq = ? where seq = -1", (other,))


def test_a_chain_is_read_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    with closing(connect(path)) as writer:
        migrate(writer, HUB_STEPS)
        chain = Chain(writer)
        log = AuditLog(path)
        for count in range(1, 30):
            with chain.transaction():
                chain.append([b"{}"])
            assert log.verify().rows == count
