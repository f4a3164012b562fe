"""The fuzz campaign in small: the same hubs and the same frames, a few hundred of them."""

from pathlib import Path

import pytest

from tests.campaigns.fuzz.frames import VALID_EVERY
from tests.campaigns.fuzz.http import fuzz_http
from tests.campaigns.fuzz.stdio import fuzz_stdio
from tests.requirements import requirement
from tests.servers.everything.running import Hub

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

FRAMES = 1500


@requirement("wire.bad-json", "wire.bad-envelope", "wire.limit-depth", "stdio.stdout-is-protocol", "stdio.eof-ends")
async def test_odd_frames_on_stdio_harm_nobody(limen_bin: Path, tmp_path: Path) -> None:
    figures = await fuzz_stdio(Hub.prepare(limen_bin, tmp_path), FRAMES, seed=11)
    assert figures.holds, figures
    # The hello before them and the ping after them are valid as well.
    assert (figures.frames, figures.answered) == (FRAMES, FRAMES // VALID_EVERY + 2)


@requirement("http.bad-json", "wire.bad-envelope", "wire.limit-depth", "stateless.headers")
async def test_odd_frames_over_http_harm_nobody(limen_bin: Path, tmp_path: Path) -> None:
    figures = await fuzz_http(Hub.prepare(limen_bin, tmp_path), FRAMES, seed=12)
    assert figures.holds, figures
    assert (figures.frames, figures.answered) == (FRAMES, FRAMES // VALID_EVERY)
