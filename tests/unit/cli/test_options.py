"""The quick reader of `limen stdio` understands the common cases, and leaves every other to typer."""

import pytest

from limen.cli.options import STDIO_OPTIONS, read_options


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("stdio", {}),
        ("stdio --tier write", {"tier": "write"}),
        ("stdio --tier=write", {"tier": "write"}),
        ("stdio --toolsets a,b --tier read", {"toolsets": "a,b", "tier": "read"}),
        ("--config my.yaml stdio", {"config": "my.yaml"}),
        ("--json stdio", {"json": "true"}),
        ("stdio --tier read --tier write", {"tier": "write"}),
        ("--config stdio stdio", {"config": "stdio"}),
    ],
)
def test_common_command_lines_are_read(line: str, found: dict[str, str]) -> None:
    assert read_options(line.split(), "stdio", STDIO_OPTIONS) == found


@pytest.mark.parametrize(
    "line",
    [
        "",
        "serve",
        "stdio --help",
        "stdio -h",
        "stdio --tier",
        "stdio --tier=",
        "stdio --tier --json",
        "stdio --unknown",
        "stdio --tie write",
        "stdio more",
        "stdio stdio",
        "--config stdio",
        "stdio --",
        "stdio --json=yes",
        "--tier write stdio",
        "logs --tool stdio",
    ],
)
def test_everything_else_is_left_to_typer(line: str) -> None:
    assert read_options(line.split(), "stdio", STDIO_OPTIONS) is None
