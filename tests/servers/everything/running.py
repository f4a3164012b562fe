"""A real hub with the toolset `everything` in it: the command line for a stdio client, the URL for an HTTP one."""

import json
import os
import re
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.environment import ROOT, child_environment

PLUGIN = Path(__file__).with_name("plugin")
ENDPOINT = re.compile(r"http://[^\s\"']+/mcp")
STOP_S = 10
SERVING_EVERYTHING: Mapping[str, object] = {"toolsets": ["hub", "everything"], "log": {"level": "info"}}


@dataclass(frozen=True, slots=True)
class Hub:
    """How to start one: settings, command and environment, all of them in a folder of their own."""

    command: str
    config: Path
    env: Mapping[str, str]

    @classmethod
    def prepare(cls, limen: Path, home: Path, settings: Mapping[str, object] = SERVING_EVERYTHING) -> "Hub":
        """Write the settings; those it has by itself serve the built-in toolset and this one, without a prefix."""
        home.mkdir(parents=True, exist_ok=True)
        config = home / "limen.yaml"
        config.write_text(json.dumps(settings), "utf-8")
        # The first entry makes the code importable, the second one the entry point that names it.
        path = os.pathsep.join((str(ROOT), str(PLUGIN)))
        return cls(str(limen), config, child_environment(home) | {"PYTHONPATH": path, "LIMEN_CONFIG": str(config)})

    def stdio(self) -> list[str]:
        """The command line of a hub for one client."""
        return [self.command, "stdio"]

    @contextmanager
    def serving(self) -> Generator[str]:
        """Serve over HTTP for as long as this is open; gives the endpoint's URL."""
        journal = self.config.with_name("serve.log")
        with (
            journal.open("wb") as stderr,
            subprocess.Popen(
                [self.command, "serve", "--config", str(self.config), "--port", "0"],
                env=dict(self.env),
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            ) as server,
        ):
            try:
                yield _endpoint(server, journal)
            finally:
                server.terminate()
                try:
                    server.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    server.kill()


def _endpoint(server: "subprocess.Popen[str]", journal: Path) -> str:
    """The URL that the hub prints once it is ready."""
    assert server.stdout is not None
    for line in server.stdout:
        found = ENDPOINT.search(line)
        if found:
            return found[0]
    raise AssertionError(f"limen serve ended before it was ready:\n{journal.read_text('utf-8')}")
