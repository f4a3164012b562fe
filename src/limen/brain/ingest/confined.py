"""What a child that reads one file may use of the machine, and how it tells what it found; for `apart`'s children.

Imports nothing of Limen: such a child is started for every file, and each import is paid anew.
"""

import codecs
import json
import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

__all__ = ["MEMORY_BYTES", "confine", "tell"]

MEMORY_BYTES: Final = 1024 * 1024 * 1024


_CODECS: Final = ("ascii", "latin-1", "cp437", "cp1252", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")


def confine(cpu_s: int) -> None:
    """From here on: so much processor time and memory, no file is opened or written, nothing is dumped."""
    # Python loads a codec from its file when it is first used.
    for name in _CODECS:
        codecs.lookup(name)
    for what, most in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),
    ):
        # Not every system knows every limit; the deadline holds on all of them.
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, most))


def tell(message: Mapping[str, object]) -> None:
    """One message to the process that waits for it."""
    line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
