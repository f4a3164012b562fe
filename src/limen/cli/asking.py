"""Asks the person at the terminal, and refuses to guess when there is none."""

import sys

from limen.cli.invocation import Invocation
from limen.errors import InvalidArguments

__all__ = ["confirm"]


def confirm(invocation: Invocation, question: str, *, is_given: bool) -> bool:
    """Whether the answer is yes; `is_given` when it was given on the command line.

    Raises:
        InvalidArguments: there is nobody to ask.
    """
    if is_given:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArguments(
            "nothing was changed, because nobody is here to say yes", fix="add --yes, or --dry-run to look first"
        )
    invocation.output.say(f"{question} [y/N]")
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
