"""Reads the settings for a command, starts logging as they say, and tells what is wrong with them."""

import sys
from pathlib import Path

from limen.cli.invocation import Invocation
from limen.cli.loglines import start_logging
from limen.cli.printable import printable
from limen.config.load import Loaded, load, require

__all__ = ["load_settings", "read_settings", "tell_problems"]


def read_settings(invocation: Invocation) -> Loaded:
    """The settings with everything that is wrong with them, whether they can be used or not."""
    return load(invocation.config, invocation.environment, Path.cwd())


def load_settings(invocation: Invocation) -> Loaded:
    """Settings that can be used.

    Raises:
        ConfigInvalid: they cannot.
    """
    loaded = read_settings(invocation)
    start_logging(require(loaded).log.level, sys.stderr)
    return loaded


def tell_problems(invocation: Invocation, loaded: Loaded) -> None:
    """Say what is wrong with settings that can be used all the same: servers left out, keys that do nothing."""
    for problem in loaded.problems:
        where = f"{problem.where}: " if problem.where else ""
        invocation.output.say(
            f"{invocation.output.paint('warning:', 'warn')} {printable(f'{where}{problem.message}; {problem.fix}')}"
        )
