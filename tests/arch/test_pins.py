"""What is declared is pinned, what is pinned is checked by hash, and the pins say nothing else."""

import json
import re
import tomllib
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.environment import ROOT

PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[\w.+!]+)(?: ; .+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def pins(kind: str) -> dict[str, str]:
    """Package -> pinned version, of one constraints file."""
    found: dict[str, str] = {}
    for line in (ROOT / "constraints" / f"{kind}.txt").read_text("utf-8").splitlines():
        pin = PIN.match(line)
        if pin:
            found[canonicalize_name(pin["name"])] = pin["version"]
        else:
            assert HASH.match(line) or line.startswith("# "), f"neither a pin nor a hash: {line}"
    return found


def unmet(declared: list[str], pinned: dict[str, str]) -> list[str]:
    """The declared dependencies that no pin fulfils."""
    wanted = [Requirement(line) for line in declared]
    return [str(need) for need in wanted if pinned.get(canonicalize_name(need.name), "none") not in need.specifier]


def project() -> dict[str, Any]:
    """The project's own table in pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_run_time_dependency_is_pinned() -> None:
    assert not unmet(project()["dependencies"], pins("run")), "run `make lock`"


def test_every_development_dependency_is_pinned() -> None:
    assert not unmet(project()["optional-dependencies"]["dev"], pins("run") | pins("dev")), "run `make lock`"


def test_nothing_is_pinned_twice() -> None:
    assert not pins("run").keys() & pins("dev").keys()


def test_every_npm_package_is_checked_by_hash_and_names_no_host() -> None:
    lock = json.loads((ROOT / "tests" / "npm" / "package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
