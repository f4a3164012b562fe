"""The reference says what the code says."""

import pytest

from tests.requirements import requirement
from tools.reference import FOLDER, pages


@requirement("docs.reference-fresh")
@pytest.mark.parametrize("name", ["commands.md", "settings.md", "errors.md"])
def test_the_reference_is_what_the_code_would_write_now(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"
