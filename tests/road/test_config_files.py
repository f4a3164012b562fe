"""Settings files on disk: found in order, read whole, and reported when they cannot be."""

import subprocess
import sys
from pathlib import Path

import pytest

from limen.config.load import Loaded, environment, load, require
from limen.config.model import Settings
from limen.errors import ConfigInvalid
from tests.requirements import requirement


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"LIMEN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


def write_port(path: Path, port: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"server: {{port: {port}}}\n", "utf-8")
    return path


def outcome(loaded: Loaded) -> tuple[Path | None, int]:
    assert loaded.problems == ()
    return loaded.path, require(loaded).server.port


@requirement("config.found-in-order")
def test_the_first_file_that_is_there_is_used(cwd: Path, env: dict[str, str], tmp_path: Path) -> None:
    assert outcome(load(None, env, cwd)) == (None, 8765)

    users = write_port(tmp_path / "home" / "limen.yaml", 1)
    assert outcome(load(None, env, cwd)) == (users, 1)

    short = write_port(cwd / "limen.yml", 2)
    assert outcome(load(None, env, cwd)) == (short, 2)

    projects = write_port(cwd / "limen.yaml", 3)
    assert outcome(load(None, env, cwd)) == (projects, 3)

    by_variable = write_port(tmp_path / "other.yaml", 4)
    env["LIMEN_CONFIG"] = "~/other.yaml"
    assert outcome(load(None, env, cwd)) == (by_variable, 4)

    by_option = write_port(cwd / "sub" / "mine.json", 5)
    assert outcome(load(Path("sub/mine.json"), env, cwd)) == (by_option, 5)


@requirement("config.defaults")
def test_without_any_file_the_defaults_are_in_force(cwd: Path, env: dict[str, str]) -> None:
    loaded = load(None, env, cwd)
    assert (loaded.settings, loaded.path, loaded.problems) == (Settings(), None, ())
    assert not loaded.paths.config_file.exists()


@requirement("config.found-in-order")
def test_a_named_file_that_is_not_there_is_an_error_and_nothing_else_is_tried(cwd: Path, env: dict[str, str]) -> None:
    write_port(cwd / "limen.yaml", 3)
    for loaded in (load(Path("no.yaml"), env, cwd), load(None, {**env, "LIMEN_CONFIG": "no.yaml"}, cwd)):
        with pytest.raises(ConfigInvalid) as refused:
            require(loaded)
        assert str(cwd / "no.yaml") in str(refused.value)
        assert loaded.path == cwd / "no.yaml"


def test_a_folder_in_the_place_of_a_file_is_an_error(cwd: Path, env: dict[str, str]) -> None:
    (cwd / "limen.yaml").mkdir()
    (problem,) = load(None, env, cwd).problems
    assert problem.is_fatal


@pytest.mark.parametrize("data", [b"tier: \xff\xfe", "tier: read".encode("utf-16")])
def test_a_file_in_another_encoding_is_an_error(data: bytes, cwd: Path, env: dict[str, str]) -> None:
    (cwd / "limen.yaml").write_bytes(data)
    (problem,) = load(None, env, cwd).problems
    assert problem.fix == "save it as UTF-8"


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(cwd: Path, env: dict[str, str]) -> None:
    (cwd / "limen.yaml").write_bytes(b"\xef\xbb\xbfserver:\r\n  port: 7\r\n")
    assert outcome(load(None, env, cwd)) == (cwd / "limen.yaml", 7)


def test_an_endless_file_is_not_read_to_its_end(env: dict[str, str], cwd: Path) -> None:
    (problem,) = load(Path("/dev/zero"), env, cwd).problems
    assert problem.message == "longer than 1 MiB"


@requirement("config.all-problems")
def test_refusal_lists_every_error_and_carries_all_problems(cwd: Path, env: dict[str, str]) -> None:
    (cwd / "limen.yaml").write_text("tier: root\nservers:\n  a: {type: stdio}\nserver:\n  port: x\n", "utf-8")
    loaded = load(None, {**env, "LIMEN_LOG_LEVEL": "loud"}, cwd)
    with pytest.raises(ConfigInvalid) as refused:
        require(loaded)
    lines = str(refused.value).splitlines()
    assert [line.split(": error: ")[0].strip() for line in lines[1:]] == [
        "limen.yaml:1:7",
        "limen.yaml:5:9",
        "$LIMEN_LOG_LEVEL",
    ]
    assert refused.value.facts["problems"] == [problem.as_dict() for problem in loaded.problems]
    assert len(loaded.problems) == 5


@requirement("config.missing-variable")
def test_a_server_that_cannot_be_used_does_not_keep_limen_from_starting(cwd: Path, env: dict[str, str]) -> None:
    (cwd / "limen.yaml").write_text("servers: {a: {command: x, env: {T: '${NOT_SET}'}}, b: {command: y}}", "utf-8")
    loaded = load(None, env, cwd)
    assert list(require(loaded).servers) == ["b"]
    assert "NOT_SET" in loaded.disabled["a"]


def test_the_environment_is_a_copy_of_the_processes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMEN_PORT", "5")
    found = environment()
    monkeypatch.setenv("LIMEN_PORT", "6")
    assert found["LIMEN_PORT"] == "5"


def test_settings_are_loaded_without_anything_heavy(cwd: Path) -> None:
    write_port(cwd / "mine.json", 1).write_text('{"server": {"port": 1}}', "utf-8")
    code = (
        "import sys; from pathlib import Path; from limen.config.load import load;"
        "load(None, {'LIMEN_PORT': '1'}, Path.cwd()); load(Path('mine.json'), {}, Path.cwd());"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    assert not {"yaml", "platformdirs", "difflib", "pydantic", "json", "asyncio"} & set(done.stdout.split())
