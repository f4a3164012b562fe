"""What every command runs with: the environment, the options common to all, and where its words go."""

from collections.abc import Mapping
from pathlib import Path

from limen.cli.output import Output

__all__ = ["Invocation"]


class Invocation:
    """One run of one command."""

    def __init__(self, environment: Mapping[str, str], config: Path | None = None, *, as_json: bool = False) -> None:
        self.environment = environment
        self.config = config
        self.as_json = as_json
        self.output = Output(environment, as_json=as_json)

    def with_options(self, *, config: Path | None, as_json: bool) -> "Invocation":
        """The same with further options put over it."""
        return Invocation(self.environment, config or self.config, as_json=as_json or self.as_json)
