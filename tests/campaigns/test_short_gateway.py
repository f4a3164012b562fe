"""The gateway campaign in small: the same hub, the same servers, fewer of everything."""

from pathlib import Path

import pytest

from tests.campaigns.gateway.rounds import Stage, crashes, crowd, killed, talks
from tests.environment import Home
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(60)]


@pytest.fixture
def stage(limen_bin: Path, home: Home) -> Stage:
    """A fresh home."""
    return Stage(limen_bin, home.env)


@requirement("gateway.campaign")
async def test_servers_that_die_over_and_over_cost_nobody_else_an_answer_and_leave_nothing(stage: Stage) -> None:
    found = await crashes(stage, 20, frail=2)
    assert found.holds, found.failures
    assert found.figures["crashed"] == 20


@requirement("gateway.campaign")
async def test_no_server_outlives_a_killed_hub(stage: Stage) -> None:
    found = await killed(stage)
    assert found.holds, found.failures


@requirement("gateway.campaign")
async def test_every_answer_goes_to_the_one_who_asked(stage: Stage) -> None:
    found = await crowd(stage, clients=20, calls=5)
    assert found.holds, found.failures


@requirement("gateway.campaign")
@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_what_a_shared_server_says_at_a_call_comes_to_its_caller_alone(stage: Stage, door: str) -> None:
    found = await talks(stage, door, 10)
    assert found.holds, found.failures
