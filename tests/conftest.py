"""Fixtures that every suite shares, and the one line at the end that names what could not run."""

import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from tests.environment import MISSING, NPM_ROOT, Home, Node, child_environment, find_node, find_program, in_ci, lack

# Elapsed time is never asserted, and CI tries the same examples each time; new ones are found at a desk.
hypothesis.settings.register_profile("limen", deadline=None, derandomize=in_ci())
hypothesis.settings.load_profile("limen")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests (`pytest.mark.anyio`) run on plain asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def needs() -> Callable[[str], Path]:
    """Ask for a program by name: its path, or this test is reported as one that could not run."""

    def find(program: str) -> Path:
        return find_program(program) or lack(program, f"install {program} and put it on the PATH")

    return find


@pytest.fixture(scope="session")
def node() -> Node:
    """Node.js and the npm packages of the test suite."""
    binary = find_node() or lack("node >= 22", "run `make test`, which installs it into .venv")
    if not (NPM_ROOT / "node_modules").is_dir():
        lack("npm packages", "run `make test` once, which installs them into .cache/npm")
    return Node(binary=binary, root=NPM_ROOT)


@pytest.fixture
def free_port() -> int:
    """A TCP port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def limen_bin() -> Path:
    """The `limen` command of the environment that runs the tests."""
    return find_program("limen") or lack("limen", "run `make test`, which installs it into .venv")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fresh LIMEN_HOME with the environment to run a real `limen` in it."""
    path = tmp_path / "home"
    path.mkdir()
    return Home(path=path, env=child_environment(path))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let `needs_node` alone stand for the fixture, for tests that find Node by other means."""
    if item.get_closest_marker("needs_node") and find_node() is None:
        lack("node >= 22", "run `make test`, which installs it into .venv")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line which programs were missing, so that a suite that did not run is nobody's surprise."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return
    reports = [report for outcome in ("skipped", "failed", "error") for report in reporter.getreports(outcome)]
    missing = Counter(found.groups() for report in reports if (found := MISSING.search(str(report.longrepr))))
    if missing:
        told = [f"{count} for want of {program} ({fix})" for (program, fix), count in sorted(missing.items())]
        reporter.write_line(f"TESTS NOT RUN: {'; '.join(told)}", red=True)
