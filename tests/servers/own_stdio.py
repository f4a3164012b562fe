"""A peer for channel tests that speaks through Limen's own stdio channel; `noise` tries to spoil the stream.

Run as `own_stdio.py asyncio|uvloop [limit [say-goodbye]]`.
"""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import uvloop

from limen.errors import ChannelClosed, TooLarge
from limen.transport.channel import Channel
from limen.transport.stdio import open_own_stdio


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the peer has to say."""
    if method == "big":
        return {"text": "x" * params["size"]}
    if method == "noise":
        print("a stray print")
        os.write(1, b"a stray write\n")
        subprocess.run(["/bin/echo", "a stray child"], check=True)
        return {"stdin": os.read(0, 10).decode()}
    return params


async def serve(channel: Channel) -> None:
    """Answer until the input ends."""
    while True:
        try:
            frame = await channel.receive()
        except TooLarge:
            await channel.send(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"too large"}}')
            continue
        if frame is None:
            sys.stderr.write("end of input\n")
            return
        request = json.loads(frame)
        if request.get("method") == "leave":
            return
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"], request["params"])}
        await channel.send(json.dumps(reply, indent=request["params"].get("indent")).encode())


async def main(limit_bytes: int) -> None:
    """Open the channel, serve, and say how it ended."""
    async with open_own_stdio(limit_bytes) as channel:
        try:
            await serve(channel)
        except ChannelClosed:
            sys.stderr.write("nobody reads\n")
    if len(sys.argv) > 3:
        sys.stdout.write("stdout is back\n")


if __name__ == "__main__":
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 4 * 1024 * 1024
    (uvloop.run if sys.argv[1] == "uvloop" else asyncio.run)(main(limit))
