"""Reads what it is sent and never says a word: it hangs in the handshake."""

import sys

if __name__ == "__main__":
    while sys.stdin.buffer.read(1):
        pass
