"""The entry of the `limen` command: picks the command, and turns every failure into words and an exit code."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from limen.cli.options import STDIO_OPTIONS, read_options
from limen.cli.output import Output
from limen.errors import LimenError

__all__ = ["main", "run"]

INTERRUPTED = 130


def main() -> None:
    """Run the command that the shell was given."""
    # What imports leave behind is no garbage, and looking for some only delays the start. Commands that go on
    # for longer turn this on again, with the event loop.
    gc.disable()
    sys.exit(run(sys.argv[1:], os.environ))  # noqa: TID251 - handed down from here, read nowhere else


def run(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run one command; the exit code says how it went."""
    output = Output(environment, as_json="--json" in words)
    try:
        return _dispatch(words, environment)
    except LimenError as error:
        return output.fail(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line: nothing that goes wrong ends in a bare traceback
        return output.crash(error, with_traceback=environment.get("LIMEN_LOG_LEVEL", "").lower() == "debug")


def _dispatch(words: Sequence[str], environment: Mapping[str, str]) -> int:
    # Each half is imported only when it is the one that runs: every client starts `limen stdio` at every launch,
    # and `limen --help` needs no hub.
    quick = read_options(words, "stdio", STDIO_OPTIONS) if "stdio" in words else None
    if quick is not None:
        return import_module("limen.cli.stdio").run_quick(quick, environment)
    return import_module("limen.cli.root").run_command(words or ["--help"], environment)
