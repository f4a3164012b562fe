"""The description keeps its word: schemathesis makes requests out of it, and every answer is one it promised."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.environment import find_program, in_ci, lack
from tests.requirements import requirement
from tests.road.rest.front import Rest

pytestmark = pytest.mark.anyio

EXAMPLES = 12
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
)
OPTIONS = (
    f"--checks={','.join(CHECKS)}",
    f"--max-examples={EXAMPLES}",
    "--phases=examples,coverage,fuzzing",
    "--request-timeout=20",
    "--suppress-health-check=all",
    "--continue-on-failure",
    "--no-color",
)
MAKER = "createBrain"
ENDLESS = "followChanges"
"""Its answer never ends by itself; `test_events.py` has it."""


def aimed(description: dict[str, Any]) -> dict[str, Any]:
    """The description, with brains that are there; the one that is put away is nobody else's."""
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            names = ["victim"] if (path, method) == ("/v1/brains/{brain}", "delete") else ["notes"]
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "brain":
                    parameter["schema"] = {"type": "string", "enum": names}
    # No test fetches from anywhere but this machine.
    description["components"]["schemas"]["IngestUrlBody"]["properties"]["url"] = {"enum": ["http://127.0.0.1:9/x"]}
    return description


@pytest.mark.slow
@pytest.mark.timeout(180)
@requirement("rest.described")
async def test_every_answer_is_one_that_was_promised(rest: Rest, tmp_path: Path) -> None:
    program = find_program("schemathesis") or lack("schemathesis", "run `make test`, which installs it into .venv")
    await rest.brains.create("Victim", "victim")
    await rest.put("a.md", "# A\n\nalpha")
    described = tmp_path / "openapi.json"
    described.write_text(json.dumps(aimed((await rest.ask("GET", "/openapi.json")).json())), "utf-8")
    # Apart, because a brain that is made on the way answers to names which were meant to be wrong.
    for choice in (
        [f"--exclude-operation-id={name}" for name in (ENDLESS, MAKER)],
        [f"--include-operation-id={MAKER}"],
    ):
        child = await asyncio.create_subprocess_exec(
            *(program, "run", described, f"--url={rest.hub.url}", *choice, *OPTIONS),
            "--generation-deterministic" if in_ci() else "--generation-database=none",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await child.communicate()
        told = "\n".join(line[:300] for line in output.decode(errors="replace").splitlines())
        assert child.returncode == 0, told[-20_000:]
    assert await rest.still_serves()
