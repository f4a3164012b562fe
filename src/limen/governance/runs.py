"""Names one run of a process, so that whoever reads its records can tell whether it still lives."""

import os
import sys
from pathlib import Path

__all__ = ["is_running", "this_run"]


def this_run() -> str:
    """This process as `pid` or, where the system tells when it began, `pid.began`, which is never used twice."""
    return _name(os.getpid())


def is_running(run: str) -> bool:
    """Whether the process that named itself so is still there, seen from this machine."""
    pid, _, _ = run.partition(".")
    if not pid.isdecimal():
        return False
    if sys.platform == "win32":
        # There is no harmless signal there: even asking could end the other process.
        return run == this_run()
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return _name(int(pid)) == run


def _name(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return str(pid)
    # The program's name stands in parentheses and may hold anything; what follows its last one is regular.
    fields = stat.rpartition(")")[2].split()
    return f"{pid}.{fields[19]}" if len(fields) > 19 else str(pid)
