"""Where things live: beneath one folder when it is named, else where the platform wants them."""

import sys
from pathlib import Path

import pytest

from limen.config.paths import Paths, expand_home, find_paths

CWD = Path("/somewhere")


@pytest.mark.parametrize(
    ("home", "root"), [("/x/limen", "/x/limen"), ("~/limen", "/home/you/limen"), ("here", "/somewhere/here")]
)
def test_one_variable_moves_everything(home: str, root: str) -> None:
    assert find_paths({"LIMEN_HOME": home, "HOME": "/home/you", "XDG_STATE_HOME": "/state"}, CWD) == Paths(
        config_file=Path(root, "limen.yaml"),
        state_dir=Path(root, "state"),
        data_dir=Path(root, "data"),
        cache_dir=Path(root, "cache"),
        runtime_dir=Path(root, "run"),
    )


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="these have folders of their own")
def test_without_it_the_usual_folders_are_used() -> None:
    assert find_paths({"HOME": "/home/you"}, CWD) == Paths(
        config_file=Path("/home/you/.config/limen/limen.yaml"),
        state_dir=Path("/home/you/.local/state/limen"),
        data_dir=Path("/home/you/.local/share/limen"),
        cache_dir=Path("/home/you/.cache/limen"),
        runtime_dir=Path("/home/you/.local/state/limen/run"),
    )


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="these have folders of their own")
def test_the_xdg_variables_are_followed_when_they_are_absolute() -> None:
    paths = find_paths(
        {"HOME": "/home/you", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/run/user/1", "XDG_CACHE_HOME": "relative"},
        CWD,
    )
    assert paths.config_file == Path("/c/limen/limen.yaml")
    assert paths.runtime_dir == Path("/run/user/1/limen")
    assert paths.cache_dir == Path("/home/you/.cache/limen")


@pytest.mark.parametrize(
    ("written", "path"), [("~", "/home/you"), ("~/a", "/home/you/a"), ("a/~", "a/~"), ("~other/a", "~other/a")]
)
def test_a_leading_tilde_is_the_users_home(written: str, path: str) -> None:
    assert expand_home(written, {"HOME": "/home/you"}) == Path(path)
