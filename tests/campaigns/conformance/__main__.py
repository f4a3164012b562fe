"""Every client scenario of the official suite, one by one, with Limen as the client: prints the table."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.conformance.suite import EXTENSION, NEXT, Findings, client_scenarios, run_client
from tests.environment import NPM_ROOT, Node, find_node

REVISIONS = ("2025-11-25", "2026-07-28")


def verdict(found: Findings) -> str:
    """What to print of a scenario."""
    if found.wanting or found.returncode != 0:
        return "FAILED"
    return "nothing checked" if found.empty or not found.scenarios else "passed"


def play(node: Node, revision: str, scenarios: list[str]) -> int:
    """Run scenarios and print one line for each; how many passed."""
    passed = 0
    for scenario in scenarios:
        with tempfile.TemporaryDirectory() as results:
            found = run_client(node, NEXT, revision, scenario, Path(results))
        checks = [check for checks in found.scenarios.values() for check in checks if check.status == "SUCCESS"]
        said = verdict(found)
        passed += said == "passed"
        print(f"{revision}  {scenario:<45} {said:<16} {len(checks):>3} checks", flush=True)
        for line in found.wanting:
            print(f"    {line}", flush=True)
    return passed


def main() -> int:
    """Run the scenarios of the revisions asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--revision", choices=[*REVISIONS, EXTENSION], action="append")
    parser.add_argument("--only", default="", help="part of a scenario's name")
    options = parser.parse_args()
    binary = find_node()
    if binary is None or not (NPM_ROOT / "node_modules").is_dir():
        print("NOT RUN: run `make test` once, which installs Node.js and the suites")
        return 1
    node = Node(binary, NPM_ROOT)
    totals: dict[str, tuple[int, int]] = {}
    for revision in options.revision or REVISIONS:
        named = [name for name in client_scenarios(node, NEXT, revision) if options.only in name]
        totals[revision] = play(node, revision, named), len(named)
    for revision, (passed, of) in totals.items():
        print(f"{revision}: {passed}/{of}")
    return 0 if all(passed == of for passed, of in totals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
