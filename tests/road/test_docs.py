"""Every command that the documents show is run, as it is written."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from limen.cli.init import first_settings
from tests.environment import ROOT, Home
from tests.requirements import requirement

PAGES = [
    "README.md",
    "docs/guides/clients.md",
    "docs/guides/audit.md",
    "docs/guides/memory.md",
    "docs/guides/rest.md",
    "docs/guides/servers.md",
]
SERVERS = ("call ", "mcp ")
MEMORY = ("remember", "search", "recall", "ingest", "brain")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)

MAKE = {"make run", "make test"}
"""These are what runs this very suite, and what a person runs first; here only that make knows them is proven."""
FOREIGN = {"claude mcp add --transport http limen http://127.0.0.1:8765/mcp"}
"""Another program's command."""
ENDLESS = {"limen serve"}
"""Runs until it is stopped; `tests/road/test_cli*.py` start and stop it."""


def shown(page: str, language: str) -> list[str]:
    blocks = [text for kind, text in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) if kind == language]
    if language != "sh":
        return blocks
    return [line.partition("#")[0].strip() for text in blocks for line in text.splitlines() if line.strip()]


COMMANDS = sorted({command for page in PAGES for command in shown(page, "sh")})


def run(command: str, home: Home, limen_bin: Path) -> "subprocess.CompletedProcess[str]":
    words = shlex.split(command)
    assert words[0] == "limen", f"the documents show a command that no test knows how to run: {command}"
    return subprocess.run(
        [str(limen_bin), *words[1:]],
        env=home.env,
        cwd=home.path,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def make_a_call(home: Home, limen_bin: Path) -> None:
    """Leave something for `limen logs` and `limen audit verify` to read."""
    version = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}
    call = {"name": "search_local_context", "arguments": {"query": "road"}}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    lines = "".join(json.dumps(frame) + "\n" for frame in frames)
    subprocess.run([str(limen_bin), "stdio"], env=home.env, input=lines, capture_output=True, text=True, check=True)


def remember_something(home: Home, limen_bin: Path) -> None:
    """Leave the brain and the files that the documents speak of."""
    shutil.copy(ROOT / "README.md", home.path)
    shutil.copytree(ROOT / "docs" / "guides", home.path / "docs")
    for command in (
        'remember "The deploy key rotates on Mondays. Ask Maren." --tag ops',
        "brain create Side --slug side",
    ):
        done = run(f"limen {command}", home, limen_bin)
        assert done.returncode == 0, done.stderr


def have_servers(home: Home) -> None:
    """Leave the servers that the documents speak of: what `limen init` writes, switched on, and one more."""
    settings = first_settings(sys.executable).replace("enabled: false", "enabled: true")
    settings += "\n  docs: {url: http://127.0.0.1:9/mcp, enabled: false}\n"
    (home.path / "limen.yaml").write_text(settings, encoding="utf-8")


@requirement("docs.examples-run")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("command", [line for line in COMMANDS if line not in MAKE | FOREIGN | ENDLESS])
def test_a_command_of_the_documents_runs(command: str, home: Home, limen_bin: Path) -> None:
    make_a_call(home, limen_bin)
    if command.partition(" ")[2].startswith(MEMORY):
        remember_something(home, limen_bin)
    if command.partition(" ")[2].startswith(SERVERS):
        have_servers(home)
    if command.startswith("limen mcp add docs"):
        run("limen mcp remove docs", home, limen_bin)
    if command == "limen brain restore side":
        run("limen brain delete side", home, limen_bin)
    if command.startswith("limen brain create"):
        run("limen brain delete side", home, limen_bin)
    done = run(command, home, limen_bin)
    # Nothing is running in a fresh home, and `limen status` says so by its exit code.
    expected = 4 if command.startswith("limen status") else 0
    assert done.returncode == expected, done.stderr


@requirement("docs.examples-run")
def test_make_knows_every_target_the_documents_name() -> None:
    pages = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    targets = sorted(set(re.findall(r"`?make ([a-z][a-z-]*)`?", pages)))
    assert targets
    for target in targets:
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"make {target}: {done.stderr}"


@requirement("docs.examples-run")
@pytest.mark.parametrize("page", PAGES)
def test_json_in_the_documents_is_json(page: str) -> None:
    for block in shown(page, "json"):
        json.loads(block)


@requirement("docs.examples-run")
@pytest.mark.timeout(20)
def test_the_settings_shown_in_the_readme_have_no_problem(home: Home, limen_bin: Path) -> None:
    [settings] = shown("README.md", "yaml")
    (home.path / "limen.yaml").write_text(settings, encoding="utf-8")
    done = run("limen config check", home, limen_bin)
    assert done.returncode == 0, done.stderr
