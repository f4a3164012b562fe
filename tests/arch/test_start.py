"""Start-up time is a feature: asking for help loads nothing heavy."""

import re
import subprocess
import sys
from pathlib import Path

from tests.environment import Home
from tests.requirements import requirement

HEAVY = {"pydantic", "mcp", "uvicorn", "httpx2", "starlette", "yaml", "apsw"}


@requirement("cli.light-start")
def test_asking_for_help_loads_nothing_heavy(limen_bin: Path, home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", limen_bin, "--help"],
        env=home.env,
        cwd=home.path,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = {name.split(".")[0] for name in re.findall(r"^import time:.*\|\s*([\w.]+)$", done.stderr, re.MULTILINE)}
    assert "limen" in loaded
    assert not loaded & HEAVY
