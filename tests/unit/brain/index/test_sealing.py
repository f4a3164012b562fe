"""What comes out of a seal is what went in, at its place, or an error."""

import pytest

from limen.brain.index.sealing import open_sealed, seal
from tests.requirements import requirement


def test_what_was_sealed_comes_back() -> None:
    assert open_sealed(7, seal(7, b"kept")) == b"kept"


@pytest.mark.parametrize("kept", [seal(8, b"kept"), seal(7, b"kept")[:-1], b"", "text", 5, None])
@requirement("index.damage")
def test_anything_else_is_refused(kept: object) -> None:
    with pytest.raises(ValueError, match="not what was kept"):
        open_sealed(7, kept)
