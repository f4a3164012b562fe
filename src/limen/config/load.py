"""Finds the settings file and reads it: the only place where Limen reads the environment and its settings from disk."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from limen.config.decode import Origin
from limen.config.model import Settings
from limen.config.parse import MOST_BYTES, Parsed, parse, parse_nothing
from limen.config.paths import FILE_NAME, Paths, expand_home, find_paths
from limen.config.problems import Problem
from limen.errors import ConfigInvalid

__all__ = ["Loaded", "environment", "load", "require"]

_SHORT_NAME = "limen.yml"


class Loaded(Struct, frozen=True):
    """The settings in force, the file they came from, and everything wrong with them.

    Settings that could not be read are at their defaults: call `require` before acting on them.
    `disabled` holds the servers that cannot be used, with the reason; they are not in `settings.servers`.
    """

    settings: Settings
    path: Path | None
    paths: Paths
    problems: tuple[Problem, ...]
    disabled: Mapping[str, str]
    origins: Mapping[str, Origin]


class _Candidate(Struct, frozen=True):
    """A place where settings may be; one that was named must be there."""

    path: Path
    named_by: str | None = None


def environment() -> dict[str, str]:
    """The process's environment as it is now, for whoever passes it on."""
    return dict(os.environ)


def load(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Loaded:
    """Read the first settings file of: `explicit`, $LIMEN_CONFIG, `cwd`, the user's folder; without one, the defaults.

    Nothing in a file makes this fail; what is wrong is in `problems`.
    """
    paths = find_paths(env, cwd)
    for candidate in _candidates(explicit, env, cwd, paths):
        try:
            text = _read(candidate.path)
        except FileNotFoundError:
            if candidate.named_by is None:
                continue
            message = f"{candidate.named_by} names a file that does not exist"
            return _failed(candidate, paths, env, message, "create it, or name another")
        except OSError as error:
            why = error.strerror or type(error).__name__
            return _failed(candidate, paths, env, f"the settings cannot be read: {why}", "make it a readable file")
        except UnicodeDecodeError:
            return _failed(candidate, paths, env, "the settings are not UTF-8", "save it as UTF-8")
        return _loaded(parse(text, _shown(candidate.path, cwd), env), candidate.path, paths)
    return _loaded(parse_nothing(env), None, paths)


def require(loaded: Loaded) -> Settings:
    """The settings, when nothing is wrong with them beyond single servers.

    Raises:
        ConfigInvalid: they cannot be used; the message lists every error, `problems` in the facts holds them all.
    """
    fatal = [problem for problem in loaded.problems if problem.is_fatal]
    if not fatal:
        return loaded.settings
    head = "the settings have an error" if len(fatal) == 1 else f"the settings have {len(fatal)} errors"
    raise ConfigInvalid(
        "\n  ".join([f"{head}:", *(str(problem) for problem in fatal)]),
        problems=[problem.as_dict() for problem in loaded.problems],
    )


def _candidates(explicit: Path | None, env: Mapping[str, str], cwd: Path, paths: Paths) -> list[_Candidate]:
    if explicit is not None:
        return [_Candidate(cwd / expand_home(str(explicit), env), "--config")]
    if env.get("LIMEN_CONFIG"):
        return [_Candidate(cwd / expand_home(env["LIMEN_CONFIG"], env), "LIMEN_CONFIG")]
    return [_Candidate(cwd / FILE_NAME), _Candidate(cwd / _SHORT_NAME), _Candidate(paths.config_file)]


def _read(path: Path) -> str:
    """The text of a file, but never much more of it than settings may be."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    # The limit may have cut a character in two; the length alone will be reported then.
    return data.decode("utf-8-sig", errors="ignore" if len(data) > MOST_BYTES else "strict")


def _shown(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _failed(candidate: _Candidate, paths: Paths, env: Mapping[str, str], message: str, fix: str) -> Loaded:
    parsed = parse_nothing(env)
    problem = Problem(severity="error", message=message, fix=fix, file=str(candidate.path))
    return Loaded(
        settings=parsed.settings,
        path=candidate.path,
        paths=paths,
        problems=(problem, *parsed.problems),
        disabled=parsed.disabled,
        origins=parsed.origins,
    )


def _loaded(parsed: Parsed, path: Path | None, paths: Paths) -> Loaded:
    return Loaded(
        settings=parsed.settings,
        path=path,
        paths=paths,
        problems=parsed.problems,
        disabled=parsed.disabled,
        origins=parsed.origins,
    )
