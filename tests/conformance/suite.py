"""Runs the official conformance suites and reads what they found; judges nothing but their own verdicts."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.environment import ROOT, Node

NEXT = "conformance-next/dist/index.js"
STABLE = "conformance-stable/dist/index.js"
EXTENSION = "extension"
"""What the suite lists in the place of a revision for scenarios that belong to none."""
CLIENT = Path(__file__).with_name("client.py")
LISTED = re.compile(r"^ +- (\S+) \[([\w.,-]+)\]$", re.MULTILINE)
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


class Check(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that a scenario looked at."""

    id: str
    status: str
    error_message: str = ""

    @property
    def is_wanting(self) -> bool:
        """Whether a MUST or a SHOULD was not met."""
        return self.status not in ("SUCCESS", "INFO", "SKIPPED")


@dataclass(frozen=True, slots=True)
class Findings:
    """What a run of the suite found, scenario by scenario."""

    scenarios: Mapping[str, Sequence[Check]]
    returncode: int
    output: str

    @property
    def wanting(self) -> list[str]:
        """Every check that was not met, with the suite's own words."""
        return [
            f"{name}: {check.id} {check.status}: {check.error_message}"
            for name, checks in self.scenarios.items()
            for check in checks
            if check.is_wanting
        ]

    @property
    def empty(self) -> list[str]:
        """Scenarios that looked at nothing, and so prove nothing."""
        return [name for name, checks in self.scenarios.items() if not any(c.status == "SUCCESS" for c in checks)]


def run(command: Sequence[str], results: Path, *, side: str, timeout_s: float) -> Findings:
    """Run a suite that writes into `results` and read every scenario's checks."""
    done = subprocess.run(
        [*command, "-o", str(results)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd=results,
        # The suite starts the client itself and hands its own environment on.
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = {
        _scenario(path, results, side): msgspec.json.decode(path.read_bytes(), type=list[Check])
        for path in sorted(results.glob("**/checks.json"))
    }
    return Findings(found, done.returncode, done.stdout + done.stderr)


def run_client(node: Node, suite: str, revision: str, scenario: str, results: Path) -> Findings:
    """Play one scenario with Limen as the client."""
    started_by = shlex.join([sys.executable, str(CLIENT)])
    arguments = ["client", "--command", started_by, "--scenario", scenario, "--timeout", "30000"]
    if suite == NEXT and revision != EXTENSION:
        arguments += ["--spec-version", revision]
    return run([*script(node, suite), *arguments], results, side="client", timeout_s=50)


def client_scenarios(node: Node, suite: str, revision: str) -> list[str]:
    """Every scenario that a suite has for clients of a revision, in its own order."""
    listing = subprocess.run([*script(node, suite), "list", "--client"], capture_output=True, text=True, check=True)
    return [name for name, revisions in LISTED.findall(listing.stdout) if revision in revisions.split(",")]


def _scenario(checks: Path, results: Path, side: str) -> str:
    """The scenario by its folder, which has the side before and the time behind its name."""
    folder = checks.parent.relative_to(results).as_posix()
    return STAMP.sub("", folder).removeprefix(f"{side}-")


def script(node: Node, suite: str, *options: str) -> list[str]:
    """The command line of one suite; options are for Node itself."""
    binary, path = node.script(suite)
    return [binary, *options, path]
