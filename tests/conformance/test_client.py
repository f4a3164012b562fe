"""Limen's own client transport against the official suites: every scenario that needs no OAuth, one at a time."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.suite import NEXT, STABLE, run, script
from tests.environment import ROOT, Node
from tests.requirements import requirement

CLIENT = Path(__file__).with_name("client.py")
LISTED = re.compile(r"^ +- (\S+) \[([\w.,-]+)\]$", re.MULTILINE)

SCENARIOS = {
    (STABLE, "2025-11-25"): (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
    ),
    (NEXT, "2025-11-25"): (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    (NEXT, "2026-07-28"): (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}

CASES = [
    pytest.param(suite, revision, scenario, id=f"{suite.partition('/')[0]}-{revision}-{scenario}")
    for (suite, revision), scenarios in SCENARIOS.items()
    for scenario in scenarios
]

pytestmark = [pytest.mark.needs_node, pytest.mark.timeout(60)]


@requirement("peers.conformance-client")
@pytest.mark.parametrize(("suite", "revision", "scenario"), CASES)
def test_the_client_passes(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: str, revision: str, scenario: str
) -> None:
    # The suite starts the client itself and hands its own environment on.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    started_by = shlex.join([sys.executable, str(CLIENT)])
    arguments = ["client", "--command", started_by, "--scenario", scenario, "--timeout", "30000"]
    if suite == NEXT:
        arguments += ["--spec-version", revision]
    found = run([*script(node, suite), *arguments], tmp_path, side="client", timeout_s=50)
    assert not found.wanting, (found.wanting, found.output)
    assert not found.empty, found.output
    assert list(found.scenarios) == [scenario], found.output
    assert found.returncode == 0, found.output


@pytest.mark.parametrize(("suite", "revision"), SCENARIOS)
def test_no_scenario_without_oauth_is_left_out(node: Node, suite: str, revision: str) -> None:
    listing = subprocess.run([*script(node, suite), "list", "--client"], capture_output=True, text=True, check=True)
    offered = [
        name
        for name, revisions in LISTED.findall(listing.stdout)
        if revision in revisions.split(",") and not name.startswith("auth/")
    ]
    assert offered == list(SCENARIOS[suite, revision])
