"""Limen's own client against the official suites, one scenario at a time.

Every scenario without OAuth is here, and of those with it one of each kind; `make campaign-conformance` runs them all.
"""

from pathlib import Path

import pytest

from tests.conformance.suite import EXTENSION, NEXT, STABLE, client_scenarios, run_client
from tests.environment import Node
from tests.requirements import requirement

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

SIGNING_IN = {
    (NEXT, "2025-11-25"): ("auth/metadata-var3",),
    (NEXT, "2026-07-28"): (
        "auth/basic-cimd",
        "auth/scope-step-up",
        "auth/pre-registration",
        "auth/authorization-server-migration",
        "auth/iss-wrong-issuer",
    ),
    (NEXT, EXTENSION): ("auth/client-credentials-basic",),
}

CASES = [
    pytest.param(suite, revision, scenario, id=f"{suite.partition('/')[0]}-{revision}-{scenario}")
    for (suite, revision), scenarios in [*SCENARIOS.items(), *SIGNING_IN.items()]
    for scenario in scenarios
]

pytestmark = [pytest.mark.needs_node, pytest.mark.timeout(60)]


@requirement("peers.conformance-client")
@pytest.mark.parametrize(("suite", "revision", "scenario"), CASES)
def test_the_client_passes(node: Node, tmp_path: Path, suite: str, revision: str, scenario: str) -> None:
    found = run_client(node, suite, revision, scenario, tmp_path)
    assert not found.wanting, (found.wanting, found.output)
    assert not found.empty, found.output
    assert list(found.scenarios) == [scenario], found.output
    assert found.returncode == 0, found.output


@pytest.mark.parametrize(("suite", "revision"), SCENARIOS)
def test_no_scenario_without_oauth_is_left_out(node: Node, suite: str, revision: str) -> None:
    offered = [name for name in client_scenarios(node, suite, revision) if not name.startswith("auth/")]
    assert offered == list(SCENARIOS[suite, revision])
