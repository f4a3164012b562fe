"""Several processes of one driver, started together: they say `ready`, get a line, and tell how it went."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.environment import ROOT


def run_together(module: str, commands: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """What each process told."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", module, *words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for words in commands
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [json.loads(process.communicate(timeout=60)[0]) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
