"""What `limen doctor` looks at: one function per question, each answered with a finding and never with an exception."""

import asyncio
import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from limen.app import open_limen
from limen.cli.address import ask_health, base_url
from limen.cli.loop import run_async
from limen.clock import now_ms, timestamp
from limen.config.load import Loaded
from limen.config.model import ServerSettings, Settings
from limen.config.paths import Paths, find_paths
from limen.errors import LimenError, NotFound, Unreachable
from limen.governance.auditlog import AuditLog, LogFilter
from limen.server.connection import serve_channel
from limen.transport.channel import Channel
from limen.transport.memory import memory_pair

__all__ = ["Finding", "examine"]

Mark = Literal["ok", "warn", "fail"]

OLDEST_PYTHON = (3, 11)
QUICK_BYTES = 64 * 1024 * 1024
"""A trail up to this size is verified whole in about a second; a bigger one only when asked."""
ROUND_TRIP_S = 20.0
_LOW_DISK = 1024**3
_NO_DISK = 100 * 1024**2
_CLOCK_FLOOR_MS = 1_750_000_000_000
_CLOCK_SLACK_MS = 5 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    mark: Mark
    check: str
    told: str
    fix: str = ""


def examine(loaded: Loaded, *, deep: bool) -> Iterator[Finding]:
    """Every finding, in the order in which they explain each other."""
    paths, server = loaded.paths, loaded.settings.server
    questions: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("uvloop", _uvloop),
        ("git", _git),
        ("settings", lambda: _settings(loaded)),
        ("state", lambda: _state(paths.state_dir)),
        ("disk", lambda: _disk(paths.state_dir)),
        ("clock", lambda: _clock(paths)),
        ("audit", lambda: _audit(paths, deep=deep)),
        ("port", lambda: _port(server)),
        ("round trip", _round_trip),
    ]
    for name, ask in questions:
        try:
            yield ask()
        except Exception as error:  # noqa: BLE001 - whatever is broken, the other questions are asked all the same
            yield Finding("fail", name, str(error) or type(error).__name__, _fix_of(error))


def _fix_of(error: Exception) -> str:
    fix = error.facts.get("fix") if isinstance(error, LimenError) else None
    return fix if isinstance(fix, str) else ""


def _python() -> Finding:
    told = f"{sys.version.split()[0]} ({sys.executable})"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("fail", "python", told, "install Python 3.11 or later, and Limen with it")
    return Finding("ok", "python", told)


def _uvloop() -> Finding:
    if find_spec("uvloop"):
        return Finding("ok", "uvloop", "installed")
    if sys.platform == "win32":
        return Finding("ok", "uvloop", "not made for Windows; the loop of Python serves")
    return Finding("warn", "uvloop", "missing, so each message costs more CPU", "pip install uvloop")


def _git() -> Finding:
    found = shutil.which("git")
    if found:
        return Finding("ok", "git", found)
    return Finding("warn", "git", "not on the PATH; brains keep no history without it", "install git")


def _settings(loaded: Loaded) -> Finding:
    if any(problem.is_fatal for problem in loaded.problems):
        return Finding("fail", "settings", f"{loaded.path} cannot be used", "limen config check")
    if loaded.problems:
        return Finding("warn", "settings", f"{loaded.path}: {len(loaded.problems)} problems", "limen config check")
    return Finding("ok", "settings", str(loaded.path) if loaded.path else "no file, so the defaults are in force")


def _state(folder: Path) -> Finding:
    existing = _existing(folder)
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding("fail", "state", f"{existing} cannot be written", f"chown -R $(id -un) '{existing}'")
    if existing != folder:
        return Finding("ok", "state", f"{folder} (made on first use)")
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077 and os.name == "posix":
        return Finding("fail", "state", f"{folder} is open to others (mode {mode:o})", f"chmod 700 '{folder}'")
    return Finding("ok", "state", f"{folder} (private, writable)")


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    told = f"{free / 1024**3:.1f} GiB free"
    if free < _NO_DISK:
        return Finding("fail", "disk", told, f"make room on the disk of {folder}")
    if free < _LOW_DISK:
        return Finding("warn", "disk", told, f"make room on the disk of {folder}")
    return Finding("ok", "disk", told)


def _clock(paths: Paths) -> Finding:
    now = now_ms()
    told = timestamp(now)
    if now < _CLOCK_FLOOR_MS:
        return Finding("fail", "clock", f"{told} is in the past", "set the clock of this machine")
    last = AuditLog(paths.state_dir / "hub.db").list(LogFilter(limit=1))
    if last and last[0].at > timestamp(now + _CLOCK_SLACK_MS):
        return Finding(
            "warn", "clock", f"{told}, but the last call was at {last[0].at}", "set the clock of this machine"
        )
    return Finding("ok", "clock", told)


def _audit(paths: Paths, *, deep: bool) -> Finding:
    file = paths.state_dir / "hub.db"
    trail = AuditLog(file)
    if not deep and file.exists() and file.stat().st_size > QUICK_BYTES:
        calls = len(trail.list(LogFilter(limit=1000)))
        return Finding("ok", "audit", f"the last {calls} calls can be read; `limen doctor --deep` verifies all rows")
    try:
        report = trail.verify()
    except NotFound:
        return Finding("ok", "audit", "no call was made yet")
    if report.ok:
        return Finding("ok", "audit", f"{report.rows} rows, all as they were written")
    told = f"row {report.first_bad_seq}: {report.reason}"
    return Finding("fail", "audit", told, f"keep a copy of '{file}', find out who changed it, then move it away")


def _port(server: ServerSettings) -> Finding:
    url = base_url(server)
    if not server.port:
        return Finding("ok", "port", "any free one (server.port is 0)")
    try:
        return Finding("ok", "port", f"a hub is running at {url} (version {ask_health(server).get('version')})")
    except Unreachable:
        pass
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host.strip("[]"), server.port))
        except OSError as error:
            why = error.strerror or str(error)
            return Finding("fail", "port", f"{url}: {why}", "limen serve --port 0, or set server.port")
    return Finding("ok", "port", f"{url} is free")


def _round_trip() -> Finding:
    with tempfile.TemporaryDirectory(prefix="limen-doctor-") as folder:
        paths = find_paths({"LIMEN_HOME": folder}, Path(folder))
        run_async(_call_a_tool(paths))
        rows = AuditLog(paths.state_dir / "hub.db").verify()
    if not rows.ok:
        return Finding(
            "fail", "round trip", f"the audit trail of a fresh hub is broken: {rows.reason}", "reinstall Limen"
        )
    return Finding("ok", "round trip", f"a fresh hub answered search_local_context and kept {rows.rows} audit rows")


async def _call_a_tool(paths: Paths) -> None:
    """One tool call the way a client makes it, through every part of a hub."""
    ours, theirs = memory_pair()
    async with asyncio.timeout(ROUND_TRIP_S), open_limen(Settings(), paths) as limen, asyncio.TaskGroup() as group:
        group.create_task(serve_channel(limen.surface, limen.local, theirs))
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
        await _ask(ours, 1, "initialize", hello)
        await ours.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        await _ask(ours, 2, "tools/call", {"name": "search_local_context", "arguments": {"query": "audit"}})
        await ours.aclose()


async def _ask(channel: Channel, number: int, method: str, params: object) -> None:
    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    await channel.send(msgspec.json.encode(frame))
    while (raw := await channel.receive()) is not None:
        answer = msgspec.json.decode(raw, type=dict[str, object])
        if answer.get("id") == number:
            if "error" in answer:
                raise LimenError(f"{method} was answered with {answer['error']}")
            return
    raise Unreachable(f"the hub hung up on {method}")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(place for place in (folder, *folder.parents) if place.exists())
