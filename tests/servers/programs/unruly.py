"""A command-line program that behaves badly in every way a caller has to survive.

Run as `unruly.py MODE [--help]`; with MODE `mute` before it, even the help never comes.
"""

import json
import os
import signal
import sys
import time

HELP = """\
Usage: unruly COMMAND [ARGS]...

Commands:
  words    Print the arguments and the environment
  big      Print fifty megabytes
  fail     Exit with status 3
  die      End by a signal
  daemon   Leave a daemon behind that holds the pipes open
  family   Start children that ignore SIGTERM, and wait
  noise    Print bytes that are no text
  latin    Print text in another encoding
  control  Print a million control characters
  stdin    Read all of stdin
  silent   Say nothing
"""


def forked_sleeper(*, leaves: bool) -> int:
    """Fork a process that never ends; with `leaves` it has a session of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if leaves:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(writing, str(os.getpid()).encode())
        while True:
            time.sleep(60)
    return int(os.read(reading, 20))


def family() -> None:
    """Tell who there is, and stay."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [os.getpid(), forked_sleeper(leaves=False), forked_sleeper(leaves=True)]
    with open(sys.argv[2], "w", encoding="utf-8") as told:
        told.write(json.dumps(pids))
    while True:
        time.sleep(60)


def words() -> None:
    """Tell what arrived."""
    sys.stdout.write(json.dumps({"argv": sys.argv[2:], "env": dict(os.environ)}))


def big() -> None:
    """Print and print."""
    for _ in range(50):
        sys.stdout.write("0123456789abcde\n" * 65_536)


def fail() -> None:
    """Begin, and give up."""
    sys.stdout.write("half of it\n")
    sys.stderr.write("the rest is missing\n")
    sys.exit(3)


def die() -> None:
    """Leave no time to clean up."""
    sys.stderr.write("about to die\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)


MODES = {
    "words": words,
    "big": big,
    "fail": fail,
    "die": die,
    "daemon": lambda: sys.stdout.write(str(forked_sleeper(leaves=True))),
    "family": family,
    "noise": lambda: sys.stdout.buffer.write(bytes(range(256)) * 4),
    "latin": lambda: sys.stdout.buffer.write("schöne Grüße aus dem Süden".encode("latin-1")),
    "control": lambda: sys.stdout.write("\x01" * 1_000_000),
    "stdin": lambda: sys.stdout.write(f"{len(sys.stdin.buffer.read())} bytes"),
    "silent": lambda: None,
}


def main() -> None:
    """Do what the first argument says."""
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "mute":
        time.sleep(60)
    elif "--help" in sys.argv:
        sys.stdout.write(HELP)
    else:
        MODES[mode]()


if __name__ == "__main__":
    main()
