"""Where Limen keeps its things: everything beneath $LIMEN_HOME when it is set, else where the platform wants it."""

import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

__all__ = ["FILE_NAME", "Paths", "expand_home", "find_paths"]

FILE_NAME = "limen.yaml"
_APP = "limen"


class Paths(Struct, frozen=True):
    """Absolute places; none of them need exist yet.

    `config_file` is the user's settings file, `state_dir` holds what must not be lost, `data_dir` the brains,
    `cache_dir` what can be made again, `runtime_dir` sockets and locks of running processes.
    """

    config_file: Path
    state_dir: Path
    data_dir: Path
    cache_dir: Path
    runtime_dir: Path


def find_paths(env: Mapping[str, str], cwd: Path) -> Paths:
    """Compute every place from the environment; reads no file."""
    home = env.get("LIMEN_HOME")
    if home:
        root = cwd / expand_home(home, env)
        return Paths(
            config_file=root / FILE_NAME,
            state_dir=root / "state",
            data_dir=root / "data",
            cache_dir=root / "cache",
            runtime_dir=root / "run",
        )
    if sys.platform in {"darwin", "win32"}:
        return _platform_paths()
    return _xdg_paths(env)


def expand_home(text: str, env: Mapping[str, str]) -> Path:
    """A path with a leading `~` replaced by the user's home."""
    if text == "~" or text.startswith("~/"):
        return _home(env) / text[2:]
    return Path(text)


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def _xdg_paths(env: Mapping[str, str]) -> Paths:
    # By hand where it is four lines: platformdirs costs 24 ms to import, on every start.
    def folder(variable: str, fallback: str) -> Path:
        given = Path(env.get(variable, ""))
        # The XDG rules say to ignore a path that is not absolute.
        return (given if given.is_absolute() else _home(env) / fallback) / _APP

    state = folder("XDG_STATE_HOME", ".local/state")
    runtime = Path(env.get("XDG_RUNTIME_DIR", ""))
    return Paths(
        config_file=folder("XDG_CONFIG_HOME", ".config") / FILE_NAME,
        state_dir=state,
        data_dir=folder("XDG_DATA_HOME", ".local/share"),
        cache_dir=folder("XDG_CACHE_HOME", ".cache"),
        runtime_dir=runtime / _APP if runtime.is_absolute() else state / "run",
    )


def _platform_paths() -> Paths:
    from platformdirs import PlatformDirs  # noqa: PLC0415  (see _xdg_paths)

    dirs = PlatformDirs(_APP, appauthor=False)
    return Paths(
        config_file=dirs.user_config_path / FILE_NAME,
        state_dir=dirs.user_state_path,
        data_dir=dirs.user_data_path,
        cache_dir=dirs.user_cache_path,
        runtime_dir=dirs.user_runtime_path,
    )
