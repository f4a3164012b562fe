"""`limen init`, `limen call` and `limen mcp …`, as a real program in a throw-away home with real servers behind it."""

import json
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.environment import ROOT, Home
from tests.requirements import requirement
from tests.road.keyboard import sit_down
from tests.road.shell import Shell

pytestmark = pytest.mark.timeout(60)

SIDEKICK_SERVER = """\
import json
import sys
from datetime import datetime, timezone

TOOLS = [
    {"name": "echo", "description": "Returns the text you send it.", "inputSchema": {"type": "object",
     "properties": {"text": {"type": "string", "description": "Text to echo back"}}, "required": ["text"]}},
    {"name": "get_time", "description": "Returns the current UTC time.",
     "inputSchema": {"type": "object", "properties": {}}},
]

def handle(msg):
    method, rid = msg.get("method"), msg.get("id")
    if rid is None:
        return
    if method == "initialize":
        send(rid, result={"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "my-server", "version": "1.0.0"}})
    elif method == "tools/list":
        send(rid, result={"tools": TOOLS})
    elif method == "tools/call" and msg["params"]["name"] == "echo":
        send(rid, result={"content": [{"type": "text", "text": msg["params"].get("arguments", {}).get("text", "")}]})
    elif method == "tools/call" and msg["params"]["name"] == "get_time":
        now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
        send(rid, result={"content": [{"type": "text", "text": now}]})
    else:
        send(rid, error={"code": -32601, "message": f"Unknown method: {method}"})

def send(rid, **answer):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": rid, **answer}) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    if line.strip():
        handle(json.loads(line))
"""


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    return Shell(limen_bin, home)


def a_server(module: str, *args: str, **fields: Any) -> dict[str, Any]:
    """The entry of a server in `tests/servers`."""
    return {"command": sys.executable, "args": ["-m", f"tests.servers.{module}", *args], "cwd": str(ROOT), **fields}


def configure(shell: Shell, **servers: Mapping[str, Any]) -> None:
    (shell.home.path / "limen.yaml").write_text(json.dumps({"servers": servers}))


@pytest.fixture
def library(shell: Shell) -> Shell:
    """A shell whose settings know the library."""
    configure(shell, library=a_server("library", str(shell.home.path / "diary")))
    return shell


def outcomes(shell: Shell) -> list[tuple[str, str]]:
    """What the audit trail says about the calls to other servers."""
    return [(row["name"], row["status"]) for row in shell.run("logs").rows]


def test_init_writes_settings_with_a_sample_that_works_once_it_is_switched_on(shell: Shell) -> None:
    made = shell.run("init").data
    file = Path(made["file"])
    assert made["written"] is True
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shell.run("config", "check").code == 0
    [row] = shell.run("mcp", "servers").data
    assert (row["name"], row["state"]) == ("sample", "disabled")
    refused = shell.run("call", "sample", "echo", "text=hi", "--json")
    assert (refused.code, refused.error["code"]) == (8, "not_found")
    assert refused.error["facts"]["fix"] == "limen mcp update sample --enable"
    comments = file.read_text().count("#")
    assert shell.run("mcp", "update", "sample", "--enable").data["written"] is True
    assert file.read_text().count("#") == comments
    assert shell.run("call", "sample", "echo", "text=hi").data == {"content": [{"type": "text", "text": "hi"}]}
    assert "time" in shell.run("call", "sample.get_time").data["structuredContent"]
    assert outcomes(shell) == [("sample__echo", "ok"), ("sample__get_time", "ok")]


@requirement("cli.init-untouched")
def test_init_leaves_a_file_that_is_there_untouched(shell: Shell) -> None:
    file = shell.home.path / "limen.yaml"
    file.write_text("tier: write  # mine\n")
    done = shell.run("init")
    assert (done.code, done.data["written"]) == (0, False)
    assert file.read_text() == "tier: write  # mine\n"


@requirement("seed003.config")
def test_the_seed_servers_config_is_imported_and_works_as_written(shell: Shell) -> None:
    script = shell.home.path / "my_mcp_server.py"
    script.write_text(SIDEKICK_SERVER)
    config = {
        "version": "1.0",
        "servers": [
            {
                "name": "my_tools",
                "server_config": {"command": [sys.executable, str(script)]},
                "tools": [{"name": "echo"}, {"name": "get_time"}],
            }
        ],
    }
    (shell.home.path / "mcp_tools_config.json").write_text(json.dumps(config))
    assert shell.run("client", "import", "mcp_tools_config.json").code == 0
    found = shell.run("mcp", "discover", "my_tools").data
    assert found["protocol"] == "2024-11-05"
    assert [tool["exposed"] for tool in found["tools"]] == ["my_tools__echo", "my_tools__get_time"]
    assert shell.run("call", "my_tools", "echo", "text=as written").data["content"][0]["text"] == "as written"
    marks = {row["check"]: (row["mark"], row["told"]) for row in shell.run("mcp", "doctor").rows}
    assert marks["handshake"] == ("ok", "my-server 1.0.0 speaks MCP 2024-11-05, an older revision that is understood")


@pytest.mark.parametrize(
    ("words", "stdin", "expected"),
    [
        (["library", "search", "query=deploy key", "limit=5", "deep=true"], "", "typed"),
        (["library.search", 'tags:=["a","b"]', "query=x"], "", "json"),
        (["library__search"], '{"query": "piped"}', "stdin"),
    ],
)
def test_arguments_come_as_pairs_json_or_on_stdin(library: Shell, words: list[str], stdin: str, expected: str) -> None:
    wanted = {
        "typed": {"query": "deploy key", "limit": 5, "deep": True},
        "json": {"tags": ["a", "b"], "query": "x"},
        "stdin": {"query": "piped"},
    }
    done = library.run("mcp", "call", *words, stdin=stdin)
    assert json.loads(done.data["content"][0]["text"]) == wanted[expected]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["call", "library", "search", "limit=many"], 2),
        (["call", "library", "serch"], 8),
        (["call", "nobody", "search"], 8),
        (["call", "library"], 2),
        (["mcp", "read-resource", "library", "book-nowhere"], 8),
        (["mcp", "get-prompt", "library", "nothing"], 8),
        (["mcp", "login", "library"], 2),
    ],
)
def test_what_cannot_be_called_says_so_by_its_exit_code(library: Shell, words: list[str], code: int) -> None:
    done = library.run(*words, "--json")
    assert done.code == code
    assert done.out == ""
    assert done.error["code"] in ("invalid_arguments", "not_found", "resource_not_found")


@requirement("cli.tool-error-exit")
def test_a_tool_that_fails_exits_5_with_the_whole_result(library: Shell) -> None:
    piped = library.run("call", "library", "fail")
    assert (piped.code, piped.data["isError"]) == (5, True)
    shown = library.show("call", "library", "fail", env={"NO_COLOR": "1"})
    assert (shown.code, shown.out, shown.err) == (5, "", "error: the shelf is empty\n")
    assert outcomes(library) == [("library__fail", "tool_error")] * 2


def test_content_of_every_kind_is_shown_on_a_terminal(library: Shell) -> None:
    shown = library.show("call", "library", "picture", "query=x", env={"NO_COLOR": "1"})
    assert shown.out == (
        '[image image/png, 70 bytes]\n[link guide] book://guide\n[resource book://note]\na note\n{\n  "width": 1\n}\n'
    )
    assert len(library.run("call", "library", "picture").data["content"]) == 3


def test_a_server_cannot_paint_the_terminal(library: Shell) -> None:
    shown = library.show("call", "library", "colours", "query=x")
    assert shown.out == "\\x1b[31mred\\x1b[0m\\u202e\n"


def test_resources_and_prompts_are_reached_down_the_road(library: Shell) -> None:
    guide = library.run("mcp", "read-resource", "library", "book://guide").data
    assert guide["contents"][0]["text"].startswith("# Lighthouse")
    by_template = library.run("mcp", "read-resource", "library", "book://by/maren").data
    assert by_template["contents"][0]["uri"] == "book://by/maren"
    prompt = library.run("mcp", "get-prompt", "library", "review", "book=Ulysses").data
    assert prompt["messages"][0]["content"]["text"] == "Review Ulysses."
    shown = library.show("mcp", "get-prompt", "library", "review", "book=Ulysses", env={"NO_COLOR": "1"})
    assert shown.out == "user:\nReview Ulysses.\n"
    assert [status for _, status in outcomes(library)] == ["ok"] * 4


def test_discover_lists_everything_with_the_names_clients_see(library: Shell) -> None:
    found = library.run("mcp", "discover", "library").data
    assert found["tools"][0]["exposed"] == "library__search"
    assert found["resources"][0]["exposed"] == "library__book://guide"
    assert found["resourceTemplates"][0]["uriTemplate"] == "book://by/{author}"
    assert found["prompts"][0]["name"] == "review"
    shown = library.show("mcp", "discover", "library", env={"NO_COLOR": "1"}, columns=120).out
    assert "query: string, limit?: integer" in shown


def test_a_resource_becomes_a_document_that_knows_where_it_came_from(library: Shell) -> None:
    done = library.run("mcp", "compile-resource", "library", "book://guide")
    assert done.code == 0, done.err
    report = done.data
    assert report["origin"] == "mcp:library:book://guide"
    again = library.run("mcp", "compile-resource", "library", "book://guide").data
    assert (again["reused"], again["path"]) == (True, report["path"])
    [hit, *_] = library.run("search", "keeper of the lighthouse").data["hits"]
    assert hit["path"] == report["path"]
    [brain] = list((library.home.path / "data" / "brains").glob("*/"))
    assert (brain / report["path"]).read_text().startswith("# Lighthouse")


@requirement("cli.one-bad-server")
def test_one_bad_server_never_spoils_the_list(shell: Shell) -> None:
    configure(
        shell,
        good=a_server("library"),
        off=a_server("library", enabled=False),
        missing={"command": "no-such-program"},
        crashing={"command": sys.executable, "args": ["-c", "import sys; sys.exit('no keys here')"]},
        both={"command": "x", "url": "http://127.0.0.1:9/mcp"},
        unset={"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${NOT_SET_ANYWHERE}"}},
    )
    cold = {row["name"]: row for row in shell.run("mcp", "servers").data}
    assert {name: row["state"] for name, row in cold.items()} == {
        "good": "idle",
        "off": "disabled",
        "missing": "idle",
        "crashing": "idle",
        "both": "blocked",
        "unset": "blocked",
    }
    done = shell.run("mcp", "servers", "--connect")
    assert done.code == 0
    rows = {row["name"]: row for row in done.data}
    assert (rows["good"]["state"], rows["good"]["tools"], rows["good"]["transport"]) == ("ready", 8, "stdio")
    assert rows["missing"]["state"] == "failed"
    assert "no-such-program" in rows["missing"]["reason"]
    assert "no keys here" in rows["crashing"]["last_error"]
    assert "both `command` and `url`" in rows["both"]["reason"]
    assert "NOT_SET_ANYWHERE" in rows["unset"]["reason"]
    assert {row["name"]: row["tools"] for row in shell.run("mcp", "servers").data}["good"] == 8


def test_doctor_tells_the_fix_for_each_server(shell: Shell) -> None:
    configure(
        shell,
        good=a_server("library"),
        off=a_server("library", enabled=False),
        missing={"command": "npx", "env": {"PATH": "/nowhere"}},
        crashing={"command": sys.executable, "args": ["-c", "import sys; sys.exit('no keys here')"]},
        noisy=a_server("faults.garbage"),
        picky=a_server("library", tools=[{"name": "search"}, {"name": "serch"}]),
        both={"command": "x", "url": "http://127.0.0.1:9/mcp"},
    )
    done = shell.run("mcp", "doctor")
    assert done.code == 1
    found = {(row["server"], row["check"]): row for row in done.rows}
    assert {row["mark"] for row in done.rows if row["server"] == "good"} == {"ok"}
    assert found["off", "settings"]["fix"] == "limen mcp update off --enable"
    assert found["missing", "command"]["fix"] == "install Node.js, which brings npx"
    assert "no keys here" in found["crashing", "handshake"]["told"]
    assert found["crashing", "stderr"]["told"].endswith("no keys here")
    assert found["noisy", "stdout"]["mark"] == "warn"
    assert "'serch'" in found["picky", "tools"]["told"]
    assert found["both", "settings"]["mark"] == "fail"
    assert shell.run("mcp", "doctor", "good").code == 0


def test_tokens_tells_what_each_server_costs(library: Shell) -> None:
    told = library.run("mcp", "tokens").data
    costs = {row["server"]: row for row in told["servers"]}
    assert costs["library"]["tools"] == 8
    assert told["total"] == sum(row["tokens"] for row in told["servers"])
    own = sum(row["tokens"] for row in told["servers"] if row["server"] != "library")
    assert own < told["search_mode"]["tokens"] < told["total"]
    assert told["search_mode"]["saved"] == told["total"] - told["search_mode"]["tokens"]


@requirement("cli.ask-terminal")
def test_a_form_is_filled_in_at_the_terminal(library: Shell, limen_bin: Path, home: Home) -> None:
    with sit_down(limen_bin, home, "call", "library", "borrow", "query=x") as person:
        person.wait_for("library asks: Who are you?")
        person.wait_for("Answer? [Y/n]")
        person.type("")
        person.wait_for("Who borrows it")
        person.type("Maren")
        person.wait_for("days (integer) [14]")
        person.type("99")
        person.wait_for("at most 30")
        person.type("")
        person.wait_for("shelf (north, south)")
        person.type("North")
        code, out = person.end()
    assert code == 0
    said = json.loads(out)["content"][0]["text"]
    assert said == "{'action': 'accept', 'content': {'name': 'Maren', 'days': 14, 'shelf': 'north'}}"


def test_a_page_is_visited_only_after_a_yes(library: Shell, limen_bin: Path, home: Home) -> None:
    with sit_down(limen_bin, home, "call", "library", "visit", "query=x") as person:
        person.wait_for("https://example.com/pay")
        person.wait_for("[y/N]")
        person.type("")
        code, out = person.end()
    assert code == 0
    assert json.loads(out)["content"][0]["text"] == "{'action': 'decline'}"


@requirement("cli.ask-terminal")
def test_without_a_terminal_a_question_is_refused_clearly(library: Shell) -> None:
    done = library.run("call", "library", "borrow", "query=x")
    assert "nobody is at a terminal to answer" in done.err
    assert "Who are you?" in done.err
    assert "'code': -32021" in done.data["content"][0]["text"]


def test_progress_and_messages_are_seen_while_it_works(library: Shell, limen_bin: Path, home: Home) -> None:
    with sit_down(limen_bin, home, "call", "library", "walk", "query=x") as person:
        code, out = person.end()
    assert (code, json.loads(out)["content"][0]["text"]) == (0, "walked with company")
    assert "library: 50% aisle 1" in person.seen
    assert "mind the step" in person.seen
    assert "aisle" not in library.run("call", "library", "walk").err


@requirement("cli.cancel-upstream")
def test_ctrl_c_takes_the_call_back_from_the_server(library: Shell, limen_bin: Path, home: Home) -> None:
    diary = home.path / "diary"
    with sit_down(limen_bin, home, "call", "library", "slow", "query=x") as person:
        person.wait_for("looking for it")
        person.interrupt()
        code, _ = person.end()
    assert code == 130
    assert diary.read_text() == "cancelled"
    assert outcomes(library) == [("library__slow", "cancelled")]
