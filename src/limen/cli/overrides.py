"""Puts the options of a command over the settings it read; refuses values that the settings would refuse."""

import msgspec

from limen.config.describe import describe
from limen.config.model import Settings
from limen.errors import InvalidArguments

__all__ = ["override"]


def override(
    settings: Settings,
    *,
    tier: str | None = None,
    toolsets: str | None = None,
    host: str | None = None,
    port: int | None = None,
) -> Settings:
    """The settings with what was given on the command line in their place.

    Raises:
        InvalidArguments: a value is not one that the setting takes.
    """
    names = None if toolsets is None else [name.strip() for name in toolsets.split(",") if name.strip()]
    server = _given(host=host, port=port)
    top = _given(tier=tier, toolsets=names)
    if not server and not top:
        return settings
    whole = msgspec.to_builtins(settings)
    whole["server"].update(server)
    whole.update(top)
    try:
        return msgspec.convert(whole, Settings)
    except msgspec.ValidationError as error:
        # The settings were valid before, so the path at the end of the message names what was given just now.
        path = str(error).rpartition("$.")[2].rstrip("`").partition("[")[0]
        wanted = next(setting.type for setting in describe() if setting.path == path)
        name = path.rpartition(".")[2]
        raise InvalidArguments(f"--{name} must be {wanted}", field=name) from None


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
