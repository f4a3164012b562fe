"""The official suite through the gateway: Limen before a server on the official SDK, which is all that it serves."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conformance.suite import NEXT, Findings, run, script
from tests.environment import Node
from tests.requirements import requirement
from tests.servers.sdk_everything.running import http_entry, hub_before, stdio_entry

pytestmark = [pytest.mark.needs_node, pytest.mark.timeout(120)]

INPUT = "input-required-result-"
NOT_IN_A_SESSION = {
    f"{INPUT}{name}"
    for name in ("basic-elicitation", "capability-check", "ignore-extra-params", "multiple-input-requests")
}
"""Ask for what a server of the session revision cannot say: names of its questions, several of them in one answer, and
questions by what each single caller can do."""
NOT_TO_BE_SEEN = ["server-sse-polling"]
"""Passes, but looks at nothing: whether a server lets go of its own stream is no matter of the one before it."""


@pytest.fixture(scope="module", params=["stdio", "http"])
def endpoint(
    request: pytest.FixtureRequest, limen_bin: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        entry = stdio_entry() if request.param == "stdio" else stack.enter_context(http_entry(home / "far"))
        yield stack.enter_context(hub_before(limen_bin, home / "near", {"far": entry}))


def findings(node: Node, endpoint: str, revision: str, results: Path) -> Findings:
    arguments = ["server", "--url", endpoint, "--suite", "all", "--spec-version", revision]
    return run([*script(node, NEXT), *arguments], results, side="server", timeout_s=110)


def assert_all_pass(found: Findings, scenarios: int) -> None:
    assert not found.wanting, found.wanting
    assert len(found.scenarios) == scenarios, sorted(found.scenarios)
    assert found.returncode == 0, found.output


@requirement("gateway.conformance")
def test_every_scenario_of_the_session_revision_passes(node: Node, endpoint: str, tmp_path: Path) -> None:
    found = findings(node, endpoint, "2025-11-25", tmp_path)
    assert_all_pass(found, 33)
    assert found.empty == NOT_TO_BE_SEEN


@requirement("gateway.conformance")
def test_every_scenario_of_the_stateless_revision_passes(node: Node, endpoint: str, tmp_path: Path) -> None:
    found = findings(node, endpoint, "2026-07-28", tmp_path)
    assert_all_pass(found, 40)
    assert not found.empty


@requirement("gateway.conformance")
def test_a_server_that_speaks_only_the_session_revision_is_served_in_the_stateless_one(
    node: Node, limen_bin: Path, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    far = stdio_entry(protocol="2025-11-25")
    with hub_before(limen_bin, tmp_path / "near", {"far": far}) as endpoint:
        found = findings(node, endpoint, "2026-07-28", tmp_path / "results")
    assert len(found.scenarios) == 40, sorted(found.scenarios)
    assert {line.partition(":")[0] for line in found.wanting} == NOT_IN_A_SESSION, found.wanting
