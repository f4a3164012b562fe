"""Behaves as the variable MOOD says: `good` it serves `echo`, `hang` it never says a word, `end` it ends at once.

What a server is known by does not depend on the values of its variables; so this one can be known, and then change.
"""

import os
import sys

from tests.servers.speaking import Server

if __name__ == "__main__":
    match os.environ["MOOD"]:
        case "good":
            Server().run()
        case "hang":
            while sys.stdin.buffer.read(1):
                pass
        case _:
            sys.stderr.write("not today\n")
            sys.exit(7)
