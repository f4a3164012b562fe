"""The process's own stdin and stdout, of whatever kind they are, in a real process."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.environment import ROOT
from tests.requirements import requirement

PEER = ROOT / "tests" / "servers" / "own_stdio.py"
ENV = {"PATH": os.defpath, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/src"}
LIMIT = 10_000

both_loops = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


def start(
    loop: str, *rest: str, stdin: int | IO[bytes], stdout: int | IO[bytes], stderr: int | None = None
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, PEER, loop, str(LIMIT), *rest]
    return subprocess.Popen(command, env=ENV, stdin=stdin, stdout=stdout, stderr=stderr)


def asking(number: int, method: str = "echo", **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def ids(output: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in output.splitlines()]


@requirement("stdio.stdout-is-protocol")
@both_loops
def test_nothing_a_plugin_or_child_prints_reaches_the_stream(loop: str) -> None:
    peer = start(loop, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = peer.communicate(asking(1, "noise") + asking(2), timeout=5)
    assert [json.loads(line) for line in output.splitlines()] == [
        {"jsonrpc": "2.0", "id": 1, "result": {"stdin": ""}},
        {"jsonrpc": "2.0", "id": 2, "result": {}},
    ]
    for stray in (b"a stray print", b"a stray write", b"a stray child"):
        assert stray in errors
    assert peer.returncode == 0


@both_loops
def test_stdout_is_given_back_at_the_end(loop: str) -> None:
    peer = start(loop, "say-goodbye", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = peer.communicate(asking(1, "noise"), timeout=5)
    assert output.splitlines()[1:] == [b"stdout is back"]
    assert b"a stray print" in errors


@both_loops
def test_blank_lines_and_carriage_returns_are_tolerated(loop: str) -> None:
    peer = start(loop, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines = b"\n\r\n  \n" + asking(1).replace(b"\n", b"\r\n") + b"\n" + asking(2) + asking(3).rstrip(b"\n")
    output, _ = peer.communicate(lines, timeout=5)
    assert ids(output) == [1, 2, 3]


@both_loops
def test_a_line_past_the_limit_is_told_once_and_the_next_one_is_served(loop: str) -> None:
    peer = start(loop, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = peer.communicate(asking(1, text="x" * 3_000_000) + asking(2), timeout=5)
    assert ids(output) == [None, 2]


@both_loops
def test_input_from_a_file_and_output_to_a_file_work(loop: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"".join(asking(number, text="x" * 5000) for number in range(200)))
    with source.open("rb") as stdin, target.open("wb") as stdout:
        assert start(loop, stdin=stdin, stdout=stdout).wait(timeout=5) == 0
    assert ids(target.read_bytes()) == list(range(200))


@both_loops
def test_no_input_at_all_ends_in_good_order(loop: str) -> None:
    peer = start(loop, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert peer.communicate(timeout=5)[1] == b"end of input\n"
    assert peer.returncode == 0


@both_loops
def test_a_reader_that_goes_away_ends_the_server_even_while_input_stays_open(loop: str) -> None:
    peer = start(loop, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert peer.stdin is not None
    assert peer.stdout is not None
    peer.stdin.write(asking(1))
    peer.stdin.flush()
    peer.stdout.readline()
    peer.stdout.close()
    assert peer.wait(timeout=5) == 0
    peer.communicate()


@both_loops
def test_a_terminal_works_and_stays_blocking(loop: str) -> None:
    ours, theirs = pty.openpty()
    try:
        peer = start(loop, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
        os.write(ours, asking(1))
        seen = b""
        while b'"result"' not in seen:
            seen += os.read(ours, 4096)
        assert os.get_blocking(theirs)
        os.write(ours, b"\x04")
        assert peer.wait(timeout=5) == 0
        assert os.get_blocking(theirs)
        peer.communicate()
    finally:
        os.close(ours)
        os.close(theirs)


@both_loops
def test_pipes_shared_with_the_parent_are_blocking_again_at_the_end(loop: str) -> None:
    reading, writing = os.pipe()
    peer = start(loop, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.DEVNULL)
    assert peer.wait(timeout=5) == 0
    assert os.get_blocking(writing)
    os.close(reading)
    os.close(writing)


@both_loops
def test_a_slow_reader_gets_everything(loop: str) -> None:
    peer = start(loop, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert peer.stdin is not None
    assert peer.stdout is not None
    requests = b"".join(asking(number, "big", size=9000) for number in range(300))
    peer.stdin.write(requests[: 16 * 1024])
    # The pipe is full by now; only reading lets the server go on.
    replies = [peer.stdout.readline()]
    peer.stdin.write(requests[16 * 1024 :])
    peer.stdin.close()
    replies += peer.stdout.readlines()
    peer.wait(timeout=5)
    peer.stdout.close()
    assert ids(b"".join(replies)) == list(range(300))
