"""The socket campaign in small: the same hub and the same storm, with short deadlines and few connections."""

from pathlib import Path

import pytest

from tests.campaigns.sockets.rounds import Plan, play
from tests.environment import Home
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@requirement("http.half-open-closed", "http.connection-cap")
@pytest.mark.parametrize("max_connections", [100, 20], ids=["all admitted", "most refused"])
async def test_work_goes_on_and_nothing_is_left_behind_in_a_storm_of_half_open_connections(
    limen_bin: Path, home: Home, max_connections: int
) -> None:
    plan = Plan(connections=50, seconds=0, max_connections=max_connections, timeout_s=0.5)
    figures = await play(limen_bin, home.env, plan, lambda line: None)
    assert figures.holds, figures
    assert figures.half_open == 50
    assert (figures.refused > 0) == plan.is_capped
