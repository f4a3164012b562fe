"""A process that uses saved tokens, for tests with several of them.

`python -m tests.contract.oauth_driver call HOME URL COUNT`: asks the server COUNT times at once, without a person.
`python -m tests.contract.oauth_driver put HOME NAME COUNT`: saves COUNT credentials.
Says `ready`, waits for a line on stdin, and tells how it went in a line of JSON.
"""

import asyncio
import importlib
import json
import sys
from pathlib import Path

from limen.errors import LimenError
from limen.gateway.oauth.accounts import Accounts
from limen.gateway.oauth.tokens import Credential, Tokens
from limen.gateway.oauth.vault import FileVault
from limen.protocol.frames import DEFAULT_LIMITS
from limen.transport.http import HttpOptions, open_http

HEAVY = {"mcp", "pydantic"}


async def call(home: Path, url: str, count: int) -> dict[str, object]:
    """Send requests all at once on one channel."""
    auth = Accounts(FileVault(home), home).authorizer("guarded", url, {})
    codes: list[str] = []

    async def ask(number: int) -> None:
        try:
            await channel.send(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number)
        except LimenError as error:
            codes.append(error.code)
        else:
            codes.append("answered")

    options = HttpOptions({}, DEFAULT_LIMITS.frame_bytes, auth=auth)
    async with open_http(url, options) as channel, asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(ask(number))
    return {"codes": codes, "heavy": sorted(HEAVY & sys.modules.keys())}


def put(home: Path, name: str, count: int) -> dict[str, object]:
    """Save one credential after the other."""
    vault = FileVault(home)
    for number in range(count):
        server = f"https://{name}.example/{number}"
        vault.put(Credential(server=server, tokens=Tokens(access_token=f"{name}-{number}")))
    return {"saved": count}


def main() -> None:
    """Wait for the start and do what was asked for."""
    what, home, argument, count = sys.argv[1:]
    # Loaded before the start, so that the processes meet.
    importlib.import_module("httpx2")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    if what == "call":
        told = asyncio.run(call(Path(home), argument, int(count)))
    else:
        told = put(Path(home), argument, int(count))
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
