"""Runs the real `limen` command the way a shell, a pipe, a terminal or a client does."""

import json
import os
import pty
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.environment import Home

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "shell", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every JSON line of stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        """The JSON envelope that is all of stderr."""
        return json.loads(self.err)["error"]


@dataclass(frozen=True, slots=True)
class Shell:
    """One user's shell: a `limen` and a home."""

    limen: Path
    home: Home

    def run(self, *words: str, env: Mapping[str, str] | None = None, stdin: str = "") -> Done:
        """Run a command in a pipe, to its end."""
        done = subprocess.run(
            [self.limen, *words],
            env={**self.home.env, **(env or {})},
            cwd=self.home.path,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def show(self, *words: str, env: Mapping[str, str] | None = None, columns: int = 80) -> Done:
        """Run a command whose stdout and stderr are one terminal each, to its end."""
        with _terminal() as (out, out_end), _terminal() as (err, err_end):
            process = subprocess.Popen(
                [self.limen, *words],
                env={**self.home.env, "TERM": "xterm-256color", "COLUMNS": str(columns), **(env or {})},
                cwd=self.home.path,
                stdin=subprocess.DEVNULL,
                stdout=out_end,
                stderr=err_end,
            )
            os.close(out_end)
            os.close(err_end)
            shown = _read(out), _read(err)
            return Done(process.wait(), *shown)

    @contextmanager
    def start(self, *words: str, env: Mapping[str, str] | None = None) -> "Generator[subprocess.Popen[str]]":
        """Run a command beside the test; it is killed at the end if it has not ended by itself."""
        process = subprocess.Popen(
            [self.limen, *words],
            env={**self.home.env, **(env or {})},
            cwd=self.home.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def call(self, *calls: tuple[str, Mapping[str, Any]], options: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Make requests over `limen stdio`, one after the other, and return the answers."""
        with self.start("stdio", *options) as hub:
            answers = [ask(hub, number, *call) for number, call in enumerate([("initialize", HELLO), *calls])]
            assert hub.stdin is not None
            hub.stdin.close()
            assert hub.wait() == 0
        return answers[1:]


def ask(hub: "subprocess.Popen[str]", number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """One request on a hub's stdin, and its answer from stdout."""
    assert hub.stdin is not None
    assert hub.stdout is not None
    hub.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    hub.stdin.flush()
    while True:
        answer = json.loads(hub.stdout.readline())
        if answer.get("id") == number:
            return answer


@contextmanager
def _terminal() -> Generator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def _read(terminal: int) -> str:
    """Everything that was written to a terminal until nobody holds it any more."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            chunk = b""
        if not chunk:
            return b"".join(chunks).decode().replace("\r\n", "\n")
        chunks.append(chunk)
