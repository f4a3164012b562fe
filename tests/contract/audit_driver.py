"""A process that records calls until it is done or killed, and prints each call's id once it is acknowledged."""

import asyncio
import sys
from pathlib import Path

from limen.governance.audit import open_audit
from tests.contract.audit_samples import a_call, record


async def drive(path: Path, calls: int, actions: str) -> None:
    """Record reads, or reads and writes in turn, four at a time, as fast as they are kept."""

    async def work(worker: int) -> None:
        for number in range(calls):
            is_write = actions == "mixed" and (worker + number) % 3 == 0
            call = await record(trail, call=a_call(), action="write" if is_write else "read")
            sys.stdout.write(call.id + "\n")
            sys.stdout.flush()
            await asyncio.sleep(0)

    async with open_audit(path) as trail, asyncio.TaskGroup() as group:
        for worker in range(4):
            group.create_task(work(worker))


if __name__ == "__main__":
    asyncio.run(drive(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
