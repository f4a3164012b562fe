"""Calls to put on record, and a look at the record from outside: what the audit suites share."""

import asyncio
import resource
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from limen.calls.call import (
    ActionClass,
    Call,
    Caller,
    Capability,
    Kind,
    Outcome,
    Result,
    Subject,
)
from limen.db.sqlite import connect, connect_readonly, transaction
from limen.governance.audit import AuditTrail
from limen.ids import new_call_id
from tests.environment import ROOT
from tests.house import SilentExchange

RULE = "local-default"
DONE = Outcome("ok", "", RULE, 1.25, 42)
ALICE = Caller(Subject("alice"), roles=frozenset({"local"}), client="tests/1", tier="admin")


def a_call(
    name: str = "search",
    *,
    arguments: bytes = b"{}",
    caller: Caller = ALICE,
    method: str = "tools/call",
    kind: Kind = "tool",
) -> Call:
    """One call with a fresh id."""
    return Call(new_call_id(), method, kind, name, arguments, caller, SilentExchange())


def a_capability(name: str = "search", *, action: ActionClass = "read", source: str = "hub") -> Capability:
    """What answers to it."""
    return Capability("tool", name, b"{}", source, action)


async def record(
    trail: AuditTrail, *, call: Call | None = None, action: ActionClass = "read", outcome: Outcome = DONE
) -> Call:
    """Walk one call past the trail, as the pipeline does, and return it once it may be answered."""
    call = call or a_call()
    capability = a_capability(call.name, action=action)
    intended = trail.intent(call, capability, RULE)
    if intended is not None:
        await intended
    recorded = trail.outcome(call, capability, outcome)
    if recorded is not None:
        await recorded
    return call


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Every row's body, in order, as another process would see them now in the database."""
    with closing(connect_readonly(path)) as db:
        return [msgspec.json.decode(body) for (body,) in db.execute("select body from audit order by seq")]


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what comes by itself, on a thread or a timer that tells nobody."""
    while not is_so():  # noqa: ASYNC110 - there is nothing to be told by
        await asyncio.sleep(0.005)


def phases_of(path: Path) -> dict[str, list[str]]:
    """What the database has of each call, by id."""
    phases: dict[str, list[str]] = {}
    for row in rows_of(path):
        phases.setdefault(row["id"], []).append(row["phase"])
    return phases


def spools_beside(path: Path) -> list[Path]:
    """The files in which rows of this trail wait, whoever they belong to."""
    return sorted(path.parent.glob(f"{path.name}.*.spool"))


def notes_of(path: Path) -> dict[str, int]:
    """How much of each spool the chain says it has."""
    with closing(connect_readonly(path)) as db:
        return dict(db.execute("select name, moved from audit_spool"))


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Somebody else is writing."""
    with closing(connect(path)) as db, transaction(db):
        yield


@contextmanager
def refusing_database(path: Path) -> Generator[None]:
    """The database takes no rows."""
    tamper(path, ("create trigger shut before insert on audit begin select raise(abort, 'shut'); end", ()))
    try:
        yield
    finally:
        tamper(path, ("drop trigger shut", ()))


@contextmanager
def room_for(size: int) -> Generator[None]:
    """No file of this process may grow past this size: writes fail as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_disk(path: Path) -> Generator[None]:
    """There is no room for anything."""
    with room_for(1):
        yield


def start_driver(path: Path, calls: int, actions: str = "mixed") -> "subprocess.Popen[str]":
    """A process that records calls (`audit_driver`) until it is done or killed."""
    command = [sys.executable, "-m", "tests.contract.audit_driver", str(path), str(calls), actions]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def acknowledged(process: "subprocess.Popen[str]") -> list[str]:
    """The ids it has still printed, once it has ended."""
    # Through the same reader as `hear`, which may hold the beginning of it already.
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    process.wait(30)
    return [line for line in output.split("\n")[:-1] if line]


def hear(process: "subprocess.Popen[str]", count: int) -> list[str]:
    """The next ids it prints."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def tamper(path: Path, *statements: tuple[str, Sequence[int | bytes | str]]) -> None:
    """Change the database behind the trail's back."""
    with closing(connect(path)) as db:
        for statement, values in statements:
            db.execute(statement, values)


def remove(path: Path) -> None:
    """Delete a database with all that belongs to it."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


class Shelf:
    """A provider of one capability, which counts how often it ran."""

    source = "hub"

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.runs = 0

    async def list(self, kind: Kind) -> Sequence[Capability]:
        return [self.capability]

    def find(self, kind: Kind, name: str) -> Capability | None:
        return self.capability if name == self.capability.name else None

    async def run(self, call: Call, capability: Capability) -> Result:
        self.runs += 1
        return Result(b"{}")
