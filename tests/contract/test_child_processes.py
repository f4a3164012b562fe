"""Children of Limen: started as told, heard, and gone with everything they started."""

import asyncio
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limen.errors import ChannelClosed, Unreachable
from limen.transport.process import ChildChannel, ChildCommand, open_child
from tests.environment import ROOT
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

LIMIT = 1_000_000
SERVERS = ROOT / "tests" / "servers"
PATH = {"PATH": os.defpath}


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: Limen runs on uvloop where there is one."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


def python(*argv: str | Path) -> ChildCommand:
    return ChildCommand([sys.executable, *map(str, argv)], PATH)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def told_pids(channel: ChildChannel) -> list[int]:
    return json.loads(await channel.receive() or b"[]")


async def has_ended(handle: int) -> bool:
    """Whether a process ends soon; a killed one takes a moment to be gone."""
    ended, _, _ = await asyncio.to_thread(select.select, [handle], [], [], 3)
    os.close(handle)
    return bool(ended)


@requirement("stdio.whole-tree-ends")
@pytest.mark.timeout(15)
async def test_a_child_that_ignores_everything_goes_with_its_whole_tree() -> None:
    async with open_child(python(SERVERS / "stubborn.py"), LIMIT) as channel:
        pids = await told_pids(channel)
        assert len(pids) == 3
        assert all(map(is_running, pids))
    assert not any(map(is_running, pids))
    assert channel.exit_status == -signal.SIGKILL


@requirement("stdio.whole-tree-ends")
async def test_a_daemon_left_behind_by_a_child_that_ended_well_goes_too() -> None:
    async with open_child(python(SERVERS / "stubborn.py", "polite"), LIMIT) as channel:
        pids = await told_pids(channel)
        assert all(map(is_running, pids))
    assert not any(map(is_running, pids))
    assert channel.exit_status == 0


@requirement("stdio.whole-tree-ends")
async def test_a_close_that_is_cancelled_still_leaves_nothing_behind() -> None:
    async with open_child(python(SERVERS / "stubborn.py"), LIMIT) as channel:
        handles = [os.pidfd_open(pid) for pid in await told_pids(channel)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(channel.aclose(), 0.2)
    for handle in handles:
        assert await has_ended(handle)


async def test_a_child_that_ends_with_its_input_is_not_signalled() -> None:
    async with open_child(python(SERVERS / "lines.py"), LIMIT) as channel:
        pass
    assert channel.exit_status == 0


async def test_the_error_of_a_dead_child_carries_its_status_and_last_words() -> None:
    script = "import sys; print('no config; password=hunter2 Bearer abcdefghijkl', file=sys.stderr); sys.exit(7)"
    async with open_child(python("-c", script), LIMIT) as channel:
        assert await channel.receive() is None
        with pytest.raises(ChannelClosed) as caught:
            await send_until_closed(channel)
    assert caught.value.facts["exit_status"] == 7
    assert "no config" in str(caught.value.facts["stderr_tail"])
    assert "abcdefghijkl" not in str(caught.value.facts["stderr_tail"])


async def send_until_closed(channel: ChildChannel) -> None:
    while True:
        await channel.send(b"{}")
        await asyncio.sleep(0)


async def test_only_the_last_lines_of_stderr_are_kept() -> None:
    script = "import sys; [print(n, file=sys.stderr) for n in range(1000)]; print('x' * 10**6, end='', file=sys.stderr)"
    async with open_child(python("-c", script), LIMIT) as channel:
        assert await channel.receive() is None
    assert channel.stderr_tail[:2] == ("951", "952")
    assert len(channel.stderr_tail) == 50
    assert len(channel.stderr_tail[-1]) == 4096


async def test_a_child_that_closes_its_input_can_still_be_heard() -> None:
    script = "import os, sys; os.close(0); sys.stdout.write('{\"a\":1}\\n'); sys.stdout.flush()"
    async with open_child(python("-c", script), LIMIT) as channel:
        assert await channel.receive() == b'{"a":1}'


async def test_the_end_is_seen_even_when_a_grandchild_holds_the_output_open() -> None:
    script = "import os, time; os.fork() or time.sleep(60)"
    async with open_child(python("-c", script), LIMIT) as channel:
        assert await channel.receive() is None


async def test_a_child_gets_its_own_session_directory_and_environment_and_nothing_more(tmp_path: Path) -> None:
    script = (
        "import json, os; fds = sorted(map(int, os.listdir('/proc/self/fd')));"
        "print(json.dumps([os.getcwd(), sorted(os.environ), os.getsid(0) == os.getpid(), len(fds)]))"
    )
    inherited = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    command = ChildCommand([sys.executable, "-c", script], {**PATH, "TOKEN": "t", "LC_CTYPE": "C"}, tmp_path)
    async with open_child(command, LIMIT) as channel:
        cwd, names, is_leader, descriptors = json.loads(await channel.receive() or b"")
    os.close(inherited)
    assert Path(cwd) == tmp_path
    assert names == ["LC_CTYPE", "LIMEN_CHILD", "PATH", "TOKEN"]
    assert is_leader
    assert descriptors == 4  # the three standard ones, and the one that lists them


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["/no/such/program"], ["/etc/passwd"]])
async def test_a_program_that_is_not_there_is_unreachable(argv: list[str]) -> None:
    with pytest.raises(Unreachable):
        async with open_child(ChildCommand(argv, PATH), LIMIT):
            pass


async def test_a_directory_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        async with open_child(ChildCommand([sys.executable], PATH, tmp_path / "missing"), LIMIT):
            pass


async def test_a_child_dies_with_limen_even_when_limen_is_killed(needs: Callable[[str], Path]) -> None:
    needs("setpriv")
    # The outer child plays Limen: it starts one of its own, names it, and is killed without warning.
    script = (
        "import asyncio, sys\n"
        "from limen.transport.process import ChildCommand, open_child\n"
        "async def main():\n"
        "    deaf = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        f"    async with open_child(ChildCommand(deaf, {PATH!r}), 1000) as child:\n"
        "        print(child.pid, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    command = ChildCommand([sys.executable, "-c", script], {**PATH, "PYTHONPATH": str(ROOT / "src")})
    async with open_child(command, LIMIT) as channel:
        pid = int(await channel.receive() or b"0")
        grandchild = os.pidfd_open(pid)
        os.kill(channel.pid, signal.SIGKILL)
        assert await channel.receive() is None
        assert await has_ended(grandchild)


async def test_descriptors_are_all_given_back() -> None:
    counts: list[int] = []
    for _ in range(6):
        async with open_child(python(SERVERS / "lines.py"), LIMIT) as channel:
            await channel.send(b'{"id":1,"method":"echo","params":{}}')
            await channel.receive()
        await asyncio.sleep(0)
        counts.append(len(os.listdir("/proc/self/fd")))
    # The first may leave what the loop itself opened to serve it.
    assert len(set(counts[1:])) == 1
