"""`limen serve` against the official conformance suites, in both revisions, every scenario and every SHOULD."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite import NEXT, STABLE, Findings, run, script
from tests.environment import Node
from tests.requirements import requirement
from tests.servers.everything.running import Hub

MEND = Path(__file__).with_name("mend.mjs")

pytestmark = [pytest.mark.needs_node, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def endpoint(limen_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Hub.prepare(limen_bin, tmp_path_factory.mktemp("home")).serving() as url:
        yield url


def findings(command: list[str], endpoint: str, results: Path, *options: str) -> Findings:
    arguments = ["server", "--url", endpoint, "--suite", "all", *options]
    return run([*command, *arguments], results, side="server", timeout_s=170)


def assert_all_pass(found: Findings, scenarios: int) -> None:
    assert not found.wanting, found.wanting
    assert not found.empty, found.empty
    assert len(found.scenarios) == scenarios, sorted(found.scenarios)
    assert found.returncode == 0, found.output


@requirement("peers.conformance-2025")
def test_every_scenario_of_the_session_revision_passes(node: Node, endpoint: str, tmp_path: Path) -> None:
    found = findings(script(node, NEXT), endpoint, tmp_path, "--spec-version", "2025-11-25")
    assert_all_pass(found, 33)


@requirement("peers.conformance-2026")
def test_every_scenario_of_the_stateless_revision_passes(node: Node, endpoint: str, tmp_path: Path) -> None:
    found = findings(script(node, NEXT), endpoint, tmp_path, "--spec-version", "2026-07-28")
    assert_all_pass(found, 40)


WRONG_HEADER = {"server-sse-polling", "server-sse-multiple-streams"}
"""The released suite sends the header of 2025-03-26 in these, on a session of 2025-11-25, which we must refuse."""


@requirement("peers.conformance-2025")
def test_the_released_suite_fails_only_where_it_contradicts_its_own_session(
    node: Node, endpoint: str, tmp_path: Path
) -> None:
    found = findings(script(node, STABLE), endpoint, tmp_path)
    assert len(found.scenarios) == 32, sorted(found.scenarios)
    assert {line.partition(":")[0] for line in found.wanting} <= WRONG_HEADER, found.wanting


@requirement("peers.conformance-2025")
def test_with_that_header_mended_every_scenario_of_the_released_suite_passes(
    node: Node, endpoint: str, tmp_path: Path
) -> None:
    found = findings(script(node, STABLE, "--import", MEND.as_uri()), endpoint, tmp_path)
    assert_all_pass(found, 32)
