"""A hub with real brains in a folder of its own, behind a real listener, for clients that speak plain HTTP."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.road.rest.front import Rest, open_rest


@pytest.fixture
async def rest(anyio_backend: str, tmp_path: Path) -> AsyncGenerator[Rest, None]:
    """The hub, with one empty brain `notes`."""
    async with open_rest(tmp_path / "brains") as opened:
        await opened.brains.create("Notes", "notes")
        yield opened


@pytest.fixture(scope="module")
async def shared(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rest, None]:
    """The same for all tests of a module that leave nothing behind but documents."""
    async with open_rest(tmp_path_factory.mktemp("shared") / "brains") as opened:
        await opened.brains.create("Notes", "notes")
        yield opened
