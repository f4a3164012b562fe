"""Finds and signals every process a child has brought forth. Linux only; elsewhere it finds nothing.

A process belongs to the tree when its chain of parents, its process group, its session or a mark in its
environment leads to the child. So a daemon that forked twice and called setsid is still found. What
escapes is a process that did all that and cleared its environment too, before it was first looked for;
a sandbox with a process namespace is the answer to those.
"""

import os
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Member", "find_tree", "is_alive", "send_signal", "started_at"]

_PROC: Final = Path("/proc")
_IS_LINUX: Final = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Member:
    """One process, told from a later one with the same number by when it started."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class _Stat:
    pid: int
    parent: int
    group: int
    session: int
    started: int


def started_at(pid: int) -> int:
    """When the process started, in ticks since boot; 0 when that cannot be told."""
    found = _read_stat(pid)
    return 0 if found is None else found.started


def find_tree(root: Member, mark: str, known: Iterable[Member] = ()) -> set[Member]:
    """Every living process that belongs to `root`, which may itself be gone; `known` ones keep their offspring."""
    if not _IS_LINUX:
        return set()
    stats = _living()
    ours = {pid for pid, stat in stats.items() if _is_marked(stat, root, mark, stats)}
    ours |= {member.pid for member in (root, *known) if _is_same(stats.get(member.pid), member)}
    is_growing = True
    while is_growing:
        offspring = {pid for pid, stat in stats.items() if stat.parent in ours} - ours
        ours |= offspring
        is_growing = bool(offspring)
    ours.discard(os.getpid())
    return {Member(pid, stats[pid].started) for pid in ours}


def is_alive(member: Member) -> bool:
    """Whether it still runs; a zombie does not."""
    return _is_same(_read_stat(member.pid), member)


def send_signal(members: Iterable[Member], signum: signal.Signals) -> None:
    """Signal each member that still runs, and never a stranger who got its number since."""
    for member in members:
        try:
            handle = os.pidfd_open(member.pid)
        except OSError:
            continue
        try:
            # Checked after the handle is open: from here on it cannot mean another process.
            if is_alive(member):
                signal.pidfd_send_signal(handle, signum)
        except (ProcessLookupError, PermissionError):
            continue
        finally:
            os.close(handle)


def _living() -> dict[int, _Stat]:
    found = (_read_stat(int(entry)) for entry in os.listdir(_PROC) if entry.isdigit())
    return {stat.pid: stat for stat in found if stat is not None}


def _read_stat(pid: int) -> _Stat | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name stands in brackets and may hold anything, brackets and spaces included.
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return _Stat(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _is_same(stat: _Stat | None, member: Member) -> bool:
    return stat is not None and stat.started == member.started


def _is_marked(stat: _Stat, root: Member, mark: str, stats: dict[int, _Stat]) -> bool:
    if stat.started < root.started:
        return False
    holder = stats.get(root.pid)
    is_number_ours = holder is None or holder.started == root.started
    if is_number_ours and root.pid in (stat.group, stat.session):
        return True
    try:
        return mark.encode() in (_PROC / str(stat.pid) / "environ").read_bytes()
    except OSError:
        return False
