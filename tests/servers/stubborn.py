"""A server that will not go: it ignores SIGTERM and the end of its input, and has forked a daemon and a helper.

Run as `stubborn.py [polite]`; a polite one ends with its input, but leaves the daemon behind. Its first line
on stdout names the processes.
"""

import json
import os
import signal
import sys
import time


def daemonize() -> int:
    """Fork twice with a new session in between, as daemons do; the daemon's process id."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            os.close(1)
            while True:
                time.sleep(60)
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))


def help_on() -> int:
    """Fork a helper that stays in the group; its process id."""
    child = os.fork()
    if child == 0:
        while True:
            time.sleep(60)
    return child


def main() -> None:
    """Fork, tell, stay."""
    is_polite = sys.argv[1:] == ["polite"]
    if not is_polite:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [os.getpid(), daemonize(), help_on()]
    sys.stdout.write(json.dumps(pids) + "\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(1):
        pass
    while not is_polite:
        time.sleep(60)


if __name__ == "__main__":
    main()
