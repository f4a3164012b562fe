"""Options of a command take the place of settings, and are refused where those would be."""

import pytest

from limen.cli.overrides import override
from limen.config.model import ServerSettings, Settings
from limen.errors import InvalidArguments

SETTINGS = Settings(server=ServerSettings(port=9000), tier="write")


def test_nothing_given_changes_nothing() -> None:
    assert override(SETTINGS) is SETTINGS


def test_what_is_given_takes_its_place_and_nothing_else_moves() -> None:
    changed = override(SETTINGS, tier="admin", toolsets="hub, notes,", host="0.0.0.0", port=0)
    assert changed == Settings(server=ServerSettings(host="0.0.0.0", port=0), tier="admin", toolsets=("hub", "notes"))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"tier": "root"}, "tier"),
        ({"port": 70000}, "port"),
        ({"host": "no host"}, "host"),
        ({"toolsets": "a/b"}, "toolsets"),
    ],
)
def test_what_settings_refuse_is_refused_by_the_option_name(given: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        override(SETTINGS, **given)  # pyright: ignore[reportArgumentType]  one parameter of several types
    assert refused.value.facts["field"] == field
    assert str(refused.value).startswith(f"--{field} must be ")
