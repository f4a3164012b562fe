"""A child on one errand: bytes in, lines out, and nothing of it is left when the time is over."""

import os
import select
import sys

import pytest

from limen.errors import RequestTimeout, TooLarge, Unreachable
from limen.transport.errand import Ended, run_child
from limen.transport.process import ChildCommand

pytestmark = pytest.mark.timeout(20)

SLEEPER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        # One stays in the group, the other leaves it.
        if _ == 1:
            os.setsid()
        print(os.getpid(), flush=True)
        time.sleep(600)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def run(program: str, given: bytes = b"", *, deadline_s: float = 15, most_bytes: int = 10_000_000) -> list[bytes]:
    lines: list[bytes] = []
    ended = errand(program, given, lines, deadline_s=deadline_s, most_bytes=most_bytes)
    assert ended.status == 0, ended.stderr
    return lines


def errand(
    program: str, given: bytes, lines: list[bytes], *, deadline_s: float = 15, most_bytes: int = 10_000_000
) -> Ended:
    command = ChildCommand([sys.executable, "-I", "-c", program])
    return run_child(command, given, deadline_s=deadline_s, most_bytes=most_bytes, on_line=lines.append)


def has_ended(handle: int) -> bool:
    """Whether a process ends soon; a killed one takes a moment to be gone."""
    ended, _, _ = select.select([handle], [], [], 3)
    os.close(handle)
    return bool(ended)


def test_megabytes_go_in_and_come_out_line_by_line() -> None:
    given = b"".join(b"%d\n" % number for number in range(300_000)) + b"last"
    echo = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    assert run(echo, given) == given.split(b"\n")


def test_a_child_that_reads_nothing_and_says_nothing_is_fine() -> None:
    assert run("pass", b"x" * 1_000_000) == []


def test_how_it_crashed_is_told_with_its_last_words() -> None:
    ended = errand("import os, sys; sys.stderr.write('x' * 100_000 + 'ouch'); os.abort()", b"", [])
    assert ended.status < 0
    assert ended.stderr.rstrip().endswith("ouch")
    assert len(ended.stderr) <= 8192


@pytest.mark.skipif(sys.platform != "linux", reason="offspring that leaves the group is found on Linux only")
def test_at_the_deadline_the_whole_tree_is_gone() -> None:
    handles: list[int] = []
    command = ChildCommand([sys.executable, "-I", "-c", SLEEPER])
    with pytest.raises(RequestTimeout):
        run_child(
            command,
            b"",
            deadline_s=3,
            most_bytes=1000,
            on_line=lambda line: handles.append(os.pidfd_open(int(line))),
        )
    assert len(handles) == 3
    assert all(has_ended(handle) for handle in handles)


def test_a_child_that_says_too_much_is_stopped() -> None:
    with pytest.raises(TooLarge):
        run("while True: print('x' * 1000)", most_bytes=100_000)


def test_an_error_of_the_listener_ends_the_child() -> None:
    handles: list[int] = []

    def refuse(line: bytes) -> None:
        handles.append(os.pidfd_open(int(line)))
        raise ZeroDivisionError

    command = ChildCommand([sys.executable, "-I", "-c", SLEEPER])
    with pytest.raises(ZeroDivisionError):
        run_child(command, b"", deadline_s=15, most_bytes=1000, on_line=refuse)
    assert has_ended(handles[0])


def test_a_program_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(Unreachable):
        run_child(ChildCommand(["no-such-program"]), b"", deadline_s=1, most_bytes=1, on_line=print)
