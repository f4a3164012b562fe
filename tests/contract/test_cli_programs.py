"""Real command-line programs behind a channel: their tools, their calls, and everything that may go wrong with them."""

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from limen.errors import ChannelClosed, RemoteError
from limen.protocol.frames import FrameLimits, encode_notification, encode_request
from limen.protocol.versions import SERVED, SESSION_REVISION, STATELESS_REVISION, Revision
from limen.transport.channel import Channel
from limen.transport.cli.channel import CliOptions, open_cli
from limen.transport.client import McpClient, open_client
from limen.transport.handshake import ClientProfile
from tests.environment import ROOT
from tests.requirements import requirement

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

PROGRAMS = ROOT / "tests" / "servers" / "programs"
PROFILE = ClientProfile("tester", "1")
ENV = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="offspring that leaves the group is found on Linux only"
)


both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "uvloop"], indirect=True)


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Limen runs on uvloop where there is one; what has to do with processes is tried on both."""
    return "asyncio", {"use_uvloop": getattr(request, "param", "uvloop") == "uvloop"}


def script(name: str, *args: str, env: Mapping[str, str] | None = None, **options: Any) -> CliOptions:
    # Without site-packages Python starts in a tenth of the time.
    words = (*(() if name == "garden.py" else ("-IS",)), "-B", str(PROGRAMS / name), *args)
    options = {"depth": 1, **options} if name == "unruly.py" else options
    return CliOptions(command=sys.executable, args=words, env={**ENV, **(env or {})}, **options)


@asynccontextmanager
async def connected(options: CliOptions, revisions: tuple[Revision, ...] = SERVED) -> AsyncGenerator[McpClient]:
    async with open_cli(options) as channel, open_client(channel, PROFILE, revisions=revisions) as client:
        yield client


async def listed(client: McpClient) -> dict[str, Any]:
    tools = [json.loads(tool) for tool in await client.list_tools()]
    return {tool["name"].removeprefix(f"{Path(sys.executable).stem}_"): tool for tool in tools}


async def call(client: McpClient, name: str, **arguments: object) -> dict[str, Any]:
    full = name if name.startswith("git_") else f"{Path(sys.executable).stem}_{name}"
    return json.loads(await client.call_tool(full, json.dumps(arguments).encode()))


def texts(result: dict[str, Any]) -> list[str]:
    return [item["text"] for item in result["content"]]


def has_ended(pid: int) -> bool:
    """Whether a process ends soon; a killed one takes a moment to be gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 3)[0])
    finally:
        os.close(handle)


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A pipe in which a program names its processes."""
    os.mkfifo(tmp_path / "told")
    return tmp_path / "told"


async def pids_in(told: Path) -> list[int]:
    """The processes that are named there; waits until they are."""
    return json.loads(await asyncio.to_thread(told.read_text, "utf-8"))


async def all_have_ended(pids: list[int]) -> bool:
    return all([await asyncio.to_thread(has_ended, pid) for pid in pids])


@requirement("program.tools-from-help")
@pytest.mark.parametrize("revision", SERVED)
async def test_an_argparse_program_in_either_revision(revision: Revision) -> None:
    async with connected(script("bakery.py", depth=4), (revision,)) as client:
        assert client.agreement.version == revision
        tools = await listed(client)
        assert [*tools] == ["bake", "shop_till_count"]
        bake = tools["bake"]["inputSchema"]
        assert bake["required"] == ["oven", "flour"]
        assert bake["properties"]["heat"]["enum"] == ["low", "high"]
        assert tools["shop_till_count"]["inputSchema"]["properties"]["coins"]["type"] == "integer"
        result = await call(client, "bake", flour="rye", oven="--hot", salt=False, seed=["a b", "$(id)"], extra=["-x"])
        assert json.loads(texts(result)[0]) == {
            "command": "bake",
            "flour": "rye",
            "extra": ["-x"],
            "oven": "--hot",
            "heat": "low",
            "salt": False,
            "seed": ["a b", "$(id)"],
        }
        assert not result["isError"]


@requirement("program.tools-from-help")
@pytest.mark.parametrize("words", [(), ("framed",)], ids=["click", "typer"])
async def test_a_click_program_and_a_typer_program(words: tuple[str, ...]) -> None:
    async with connected(script("garden.py", *words)) as client:
        tools = await listed(client)
        assert [*tools] == ["plant", "water"]
        schema = tools["plant"]["inputSchema"]
        assert schema["required"] == ["soil", "what"]
        assert schema["properties"]["beds"]["type"] == "integer"
        result = await call(client, "plant", what="-rose", soil="clay", beds=2, shade=False)
        assert json.loads(texts(result)[0]) == {"what": "-rose", "beds": 2, "soil": "clay", "shade": False}


async def test_what_the_parser_of_the_program_refuses_is_an_error_with_its_words() -> None:
    async with connected(script("garden.py")) as client:
        result = await call(client, "plant", what="rose", soil="rock")
        assert result["isError"]
        assert texts(result)[0].startswith("exit status 2\n")
        assert "rock" in texts(result)[0]


async def test_a_missing_argument_is_an_error_the_caller_can_mend() -> None:
    async with connected(script("garden.py")) as client:
        result = await call(client, "plant", what="rose")
        assert result["isError"]
        assert "soil" in texts(result)[0]


@requirement("program.no-shell")
@pytest.mark.parametrize(
    "words",
    [["; rm -rf /", "$(id)", "`id`", "a\nb", "* ~ | & > <", "'\"\\", "", "ü€"], ["-n", "--help2", "--", "-"]],
    ids=["for a shell", "dashes"],
)
async def test_words_arrive_as_they_were_given(words: list[str]) -> None:
    async with connected(script("unruly.py")) as client:
        result = await call(client, "words", args=words)
        if words[0].startswith("-"):
            assert result["isError"], "its help does not say that it knows --"
            result = await call(client, "words", args=["--", *words])
            words = ["--", *words]
        assert json.loads(texts(result)[0])["argv"] == words


async def test_the_environment_is_what_was_given_and_little_more() -> None:
    async with connected(script("unruly.py", env={"PAGER": "mine", "ONLY": "this"})) as client:
        found = json.loads(texts(await call(client, "words"))[0])["env"]
        assert (found["PAGER"], found["ONLY"]) == ("mine", "this")
        added = {"LIMEN_CHILD", "MANPAGER", "GIT_PAGER", "TERM", "NO_COLOR", "LC_CTYPE"}
        assert set(found) - added == {*ENV, "PAGER", "ONLY"}


@both_loops
async def test_stdin_is_empty() -> None:
    async with connected(script("unruly.py")) as client:
        assert texts(await call(client, "stdin")) == ["0 bytes"]


@requirement("program.failure-is-result")
@both_loops
async def test_a_failure_is_a_result_with_its_status_and_both_streams() -> None:
    async with connected(script("unruly.py")) as client:
        result = await call(client, "fail")
        assert result["isError"]
        assert texts(result) == ["exit status 3\nthe rest is missing", "stdout:\nhalf of it\n"]
        assert result["_meta"]["limen/exit_status"] == 3


@both_loops
async def test_an_end_by_signal_is_told() -> None:
    async with connected(script("unruly.py")) as client:
        result = await call(client, "die")
        assert result["isError"]
        assert texts(result) == ["ended by signal 9\nabout to die"]


@requirement("program.output-capped")
@both_loops
async def test_fifty_megabytes_are_cut_and_counted() -> None:
    async with connected(script("unruly.py", output_bytes=100_000)) as client:
        (text,) = texts(await call(client, "big"))
        assert text.endswith(f"[cut: {50 * 16 * 65_536} bytes in all, the first 100000 are shown]")
        assert len(text) < 101_000


async def test_what_does_not_fit_into_a_frame_is_cut_to_fit() -> None:
    limits = FrameLimits(frame_bytes=200_000, string_bytes=100_000)
    async with open_cli(script("unruly.py"), limits) as channel, open_client(channel, PROFILE) as client:
        (text,) = texts(await call(client, "control"))
        assert text.endswith("[cut: the rest does not fit into one message]")


async def test_bytes_that_are_no_text_are_not_shown() -> None:
    async with connected(script("unruly.py")) as client:
        assert texts(await call(client, "noise"))[0].startswith("(binary output of 1024 bytes")
        assert texts(await call(client, "latin"))[0].startswith("sch\ufffdne")
        assert texts(await call(client, "silent")) == ["(no output)"]


@linux_only
@both_loops
async def test_a_daemon_that_holds_the_pipes_open_neither_delays_the_answer_nor_survives() -> None:
    async with connected(script("unruly.py")) as client:
        result = await call(client, "daemon")
        assert not result["isError"]
        assert has_ended(int(texts(result)[0]))


@requirement("program.tree-ends")
@linux_only
@both_loops
async def test_at_the_deadline_the_whole_tree_is_gone(told: Path) -> None:
    async with connected(script("unruly.py", timeout_s=2)) as client:
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(call(client, "family", args=[str(told)]))
            pids = await pids_in(told)
        assert calling.result()["isError"]
        assert texts(calling.result())[0].startswith("stopped: it had not ended after 2 s")
        assert await all_have_ended(pids)


@requirement("program.tree-ends")
@linux_only
@both_loops
@pytest.mark.parametrize("revision", SERVED)
async def test_a_cancelled_call_takes_its_whole_tree_with_it(told: Path, revision: Revision) -> None:
    async with connected(script("unruly.py"), (revision,)) as client:
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(call(client, "family", args=[str(told)]))
            pids = await pids_in(told)
            calling.cancel()
        assert await all_have_ended(pids)
        assert texts(await call(client, "silent")) == ["(no output)"]


@requirement("program.tree-ends")
@linux_only
@both_loops
async def test_closing_the_channel_ends_what_runs(told: Path) -> None:
    async with open_cli(script("unruly.py")) as channel:
        name = f"{Path(sys.executable).stem}_family"
        meta = {"io.modelcontextprotocol/protocolVersion": STATELESS_REVISION}
        params = {"name": name, "arguments": {"args": [str(told)]}, "_meta": meta}
        await channel.send(encode_request(1, "tools/call", json.dumps(params).encode()))
        pids = await pids_in(told)
    assert await all_have_ended(pids)
    with pytest.raises(ChannelClosed):
        await channel.send(encode_request(2, "ping"))


@both_loops
async def test_calls_at_once_keep_apart() -> None:
    async with connected(script("unruly.py")) as client:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(call(client, "words", args=[str(number)])) for number in range(12)]
        assert [json.loads(texts(it.result())[0])["argv"] for it in calls] == [[str(number)] for number in range(12)]


async def test_a_program_that_is_not_there_is_told_when_its_tools_are_asked_for() -> None:
    async with connected(CliOptions(command="no-such-program", env=ENV)) as client:
        for _ in range(2):
            with pytest.raises(RemoteError) as told:
                await client.list_tools()
            assert json.loads(told.value.data or b"{}")["code"] == "unreachable"


@both_loops
async def test_help_that_never_comes_is_an_error_in_time() -> None:
    async with connected(script("unruly.py", "mute", timeout_s=0.5)) as client:
        with pytest.raises(RemoteError) as told:
            await client.list_tools()
        assert json.loads(told.value.data or b"{}")["code"] == "timeout"


async def test_an_unknown_tool_and_an_unknown_method_are_refused() -> None:
    async with connected(script("unruly.py")) as client:
        with pytest.raises(RemoteError) as told:
            await client.call_tool("nothing")
        assert told.value.rpc_code == -32602
        with pytest.raises(RemoteError) as told:
            await client.request("resources/list")
        assert told.value.rpc_code == -32601


async def ask(channel: Channel, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    await channel.send(encode_request(1, method, json.dumps(params or {}).encode()))
    return json.loads(await channel.receive() or b"{}")


async def test_frames_by_hand() -> None:
    async with open_cli(script("unruly.py")) as channel:
        assert (await ask(channel, "tools/list"))["error"]["data"]["code"] == "not_initialized"
        assert (await ask(channel, "ping"))["result"] == {}
        refused = await ask(channel, "initialize", {"protocolVersion": "2024-11-05"})
        assert refused["error"]["data"]["code"] == "unsupported_version"
        hello = await ask(channel, "initialize", {"protocolVersion": SESSION_REVISION, "capabilities": {}})
        assert hello["result"]["serverInfo"]["name"] == f"cli-{Path(sys.executable).stem}"
        await channel.send(encode_notification("notifications/initialized"))
        assert len((await ask(channel, "tools/list"))["result"]["tools"]) == 11
        for cursor in ("x", "-1", "99999999999", "12"):
            assert (await ask(channel, "tools/list", {"cursor": cursor}))["error"]["code"] == -32602
        assert (await ask(channel, "tools/call", {"arguments": {}}))["error"]["code"] == -32602


async def test_discovery_tells_both_revisions() -> None:
    async with open_cli(script("unruly.py")) as channel:
        meta = {"io.modelcontextprotocol/protocolVersion": STATELESS_REVISION}
        found = (await ask(channel, "server/discover", {"_meta": meta}))["result"]
        assert (found["resultType"], found["supportedVersions"]) == ("complete", list(SERVED))
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        assert (await ask(channel, "tools/list", {"_meta": meta}))["error"]["code"] == -32022


@pytest.fixture
def repository(tmp_path: Path, needs: Callable[[str], Path]) -> CliOptions:
    """Git in a repository with one commit and a new file."""
    git = needs("git")
    env = {**ENV, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    settings = [word for name in ("user.name=T", "user.email=t@example.org") for word in ("-c", name)]
    for words in (["init", "-q"], [*settings, "commit", "-q", "--allow-empty", "-m", "first; $(id)"]):
        subprocess.run([git, *words], cwd=tmp_path, env=env, check=True)
    (tmp_path / "new file").write_text("x", "utf-8")
    return CliOptions(command="git", env=env, cwd=tmp_path, help="-h", only=("log", "status", "rev-parse"))


@requirement("program.tools-from-help")
async def test_git(repository: CliOptions) -> None:
    async with connected(repository) as client:
        tools = await listed(client)
        assert [*tools] == ["git_log", "git_status", "git_rev_parse"]
        assert tools["git_status"]["inputSchema"]["properties"]["short"]["type"] == "boolean"
        assert texts(await call(client, "git_status", short=True)) == ['?? "new file"\n']
        assert texts(await call(client, "git_log", format="%s", max_count=1)) == ["first; $(id)\n"]
        failed = await call(client, "git_log", args=["no-such-branch"])
        assert failed["isError"]
        assert "no-such-branch" in texts(failed)[0]


async def test_pip() -> None:
    options = CliOptions(command=sys.executable, args=("-m", "pip"), env=ENV, only=("list", "show"))
    async with connected(options) as client:
        tools = await listed(client)
        assert [*tools] == ["list", "show"]
        found = json.loads(texts(await call(client, "list", format="json", disable_pip_version_check=True))[0])
        assert "msgspec" in {package["name"] for package in found}


@pytest.mark.parametrize(
    ("program", "property_name", "kind"),
    [("tar", "create", "boolean"), ("ls", "almost_all", "boolean"), ("curl", "output", "string")],
)
async def test_programs_everybody_has(
    program: str, property_name: str, kind: str, needs: Callable[[str], Path]
) -> None:
    needs(program)
    async with connected(CliOptions(command=program, env=ENV)) as client:
        (tool,) = (await listed(client)).values()
        assert tool["name"] == program
        assert tool["inputSchema"]["properties"][property_name]["type"] == kind
