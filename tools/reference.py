"""Writes the reference of commands, settings and errors from the code that defines them.

`python -m tools.reference` writes, `python -m tools.reference --check` only tells what is stale.
"""

import inspect
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from limen import errors
from limen.cli.root import COMMANDS, load_command, run_command
from limen.config.describe import describe
from limen.config.model import ENVIRONMENT
from limen.errors import FACES, LimenError

__all__ = ["FOLDER", "pages"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
WRITTEN = "Written by `make docs` from the code; do not edit.\n"
WIDTH = "80"


def pages() -> dict[str, str]:
    """Every page of the reference by its file name."""
    return {"commands.md": _commands(), "settings.md": _settings(), "errors.md": _errors()}


def _commands() -> str:
    parts = ["# Commands\n", WRITTEN]
    for words in _command_words():
        title = " ".join(["limen", *words])
        parts.append(f"## {title}\n\n```text\n{_help(words)}\n```\n")
    parts.append("## Exit codes\n\n" + _exit_codes())
    return "\n".join(parts)


def _command_words() -> Iterator[list[str]]:
    yield []
    for name in COMMANDS:
        yield from _words_below([name], load_command(name))


def _words_below(words: list[str], command: Any) -> Iterator[list[str]]:
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _words_below([*words, name], inner)


def _help(words: list[str]) -> str:
    # typer asks the environment for the width of the terminal, and a reference must not depend on mine.
    os.environ["COLUMNS"] = WIDTH
    text = io.StringIO()
    with redirect_stdout(text):
        run_command([*words, "--help"], {})
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


def _exit_codes() -> str:
    meanings = {
        0: "it worked",
        1: "it failed",
        2: "the command was written wrongly",
        3: "who is calling is not known",
        4: "nothing answers",
        5: "a tool reported failure",
        6: "denied",
        7: "waits for an approval",
        8: "not found",
    }
    rows = [f"| {code} | {meaning} |" for code, meaning in meanings.items()]
    return "| code | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


def _settings() -> str:
    rows = [
        f"| `{setting.path}` | {_cell(setting.type)} | "
        f"{'**required**' if setting.is_required else '`' + _cell(json.dumps(setting.default)) + '`'} | "
        f"{_cell(setting.description)} |"
        for setting in describe()
    ]
    variables = [
        f"| `{variable.name}` | {f'`{variable.setting}`' if variable.setting else ''} | {_cell(variable.description)} |"
        for variable in ENVIRONMENT
    ]
    return "\n".join(
        [
            "# Settings\n",
            WRITTEN,
            "Everything in `limen.yaml` has a default. `${VAR}` and `${VAR:-default}` are filled in from the "
            "environment in any string; `$${` stands for itself.\n",
            "| setting | type | default | meaning |\n|---|---|---|---|",
            *rows,
            "\n## Environment\n",
            "| variable | overrides | meaning |\n|---|---|---|",
            *variables,
            "",
        ]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _errors() -> str:
    kinds = {
        kind.code: kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, LimenError) and "code" in vars(kind)
    }
    rows = [
        f"| `{code}` | {face.rpc} | {face.http} | {face.exit} | {'yes' if kinds[code].retryable else 'no'} | "
        f"{_cell((kinds[code].__doc__ or '').strip())} |"
        for code, face in FACES.items()
    ]
    return "\n".join(
        [
            "# Errors\n",
            WRITTEN,
            "Every failure has one of these codes, in `error.data.code` on the wire and in the JSON envelope that "
            "`--json` prints.\n",
            "| code | JSON-RPC | HTTP | exit | try again | meaning |\n|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    """Write the pages, or tell which are stale."""
    stale = [
        name
        for name, text in pages().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        for name in stale:
            sys.stderr.write(f"docs/reference/{name} is stale: run `make docs`\n")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"docs/reference/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
