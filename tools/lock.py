"""Writes the pins anew: constraints/*.txt for Python and tests/npm/package-lock.json, with hashes and without hosts.

Needs a network and takes minutes. What it writes is reviewed like code; `tools/install.py` installs nothing else.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tools.install import NPM_PINS, OLDEST, PINS, ROOT, find_node

PIP_TOOLS = "pip-tools==7.6.2"
HEAD = """\
# {what}
# Written by `make lock`; every file of each release is allowed by its hash, whatever the platform.
"""


def main() -> None:
    """Resolve for the oldest Python that is supported: a package only newer ones need does not exist so far."""
    if sys.version_info[:2] != OLDEST:
        sys.exit("lock: run this with Python 3.11, the oldest that is supported: make PYTHON=python3.11 lock")
    with tempfile.TemporaryDirectory() as scratch:
        compiler = _a_compiler(Path(scratch))
        run = _compile(compiler, Path(scratch), "run", "--build-deps-for=editable", "--build-deps-for=wheel")
        dev = _compile(compiler, Path(scratch), "dev", "--extra=dev", f"--constraint={scratch}/run.lock")
    _write("run", "What Limen needs to run, and to be built.", run)
    _write("dev", "What its tests and checks need besides.", {name: dev[name] for name in dev if name not in run})
    _lock_npm()


def _a_compiler(scratch: Path) -> Path:
    venv.create(scratch / "venv", with_pip=True)
    python = scratch / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", PIP_TOOLS], check=True, stderr=subprocess.DEVNULL)
    return python


def _compile(compiler: Path, scratch: Path, kind: str, *options: str) -> dict[str, str]:
    """Package name -> its pin with all hashes, exactly as pip reads it."""
    print(f"lock: resolving {kind} …", file=sys.stderr)
    output = scratch / f"{kind}.lock"
    command = [
        compiler,
        "-m",
        "piptools",
        "compile",
        "--generate-hashes",
        "--strip-extras",
        "--allow-unsafe",
        "--quiet",
    ]
    command += ["--no-header", "--no-annotate", f"--output-file={output}", *options, "pyproject.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"lock: pip-compile failed\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return _pins(output.read_text("utf-8"))


def _pins(text: str) -> dict[str, str]:
    """Only pins and hashes; options, and with them every index or folder of this machine, are left behind."""
    found = re.findall(r"^([\w.-]+)(==[^\n]*\\\n(?:    --hash=[^\n]*\n?)+)", text, re.MULTILINE)
    return {name: f"{name}{rest.rstrip()}\n" for name, rest in found}


def _write(name: str, what: str, pins: dict[str, str]) -> None:
    PINS.mkdir(exist_ok=True)
    (PINS / f"{name}.txt").write_text(HEAD.format(what=what) + "".join(pins[key] for key in sorted(pins)), "utf-8")
    print(f"lock: {len(pins)} packages in constraints/{name}.txt", file=sys.stderr)


def _lock_npm() -> None:
    """The lock without the address each package came from: its integrity says what it must be."""
    node, npm = find_node()
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(NPM_PINS / "package.json", scratch)
        env = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
        options = ["--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([node, npm, "install", *options], cwd=scratch, env=env, check=True)
        lock = json.loads((Path(scratch) / "package-lock.json").read_text("utf-8"))
    for package in lock["packages"].values():
        package.pop("resolved", None)
        package.pop("funding", None)
    (NPM_PINS / "package-lock.json").write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    print(f"lock: {len(lock['packages']) - 1} packages in tests/npm/package-lock.json", file=sys.stderr)


if __name__ == "__main__":
    main()
