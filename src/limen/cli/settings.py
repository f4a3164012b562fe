"""`limen config`: where the settings are, what they are, what is wrong with them, and an editor for them."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import typer

from limen.cli.invocation import Invocation
from limen.cli.loading import read_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.cli.table import Column, Table
from limen.config.load import Loaded
from limen.config.show import show as show_settings
from limen.errors import ConfigInvalid, NotFound
from limen.shapes import is_array, is_object

__all__ = ["app"]

app = new_app(summary="Find, show, check and edit the settings.")

_EDITORS = ("sensible-editor", "nano", "vim", "vi")
_NEW_FILE = """\
# Limen's settings. Each has a default: `limen config show` lists them all, `limen config check` finds mistakes.
#
# server:
#   port: 8765
# tier: read          # or write, admin
# toolsets: [memory, hub]
# servers:            # a pasted `mcpServers` block works too
#   files:
#     command: npx
#     args: ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}"]
"""


@app.command(epilog=example("limen config path", 'cp "$(limen config path)" backup.yaml'))
def path(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print the path of the settings file.

    Plain text also in a pipe, where it is of most use; --json tells whether the file is there, too.
    """
    invocation = begin(context, config, as_json)
    file = _file(read_settings(invocation))
    if invocation.as_json:
        invocation.output.data({"path": str(file), "exists": file.is_file()})
        return
    invocation.output.text(str(file))
    if not file.exists():
        invocation.output.say("this file is not there yet, so defaults are used; `limen config edit` makes it")


@app.command(epilog=example("limen config show", "limen config show --json | jq '.settings[\"server.port\"]'"))
def show(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print the settings in force and where each comes from, with secrets hidden."""
    output = (invocation := begin(context, config, as_json)).output
    loaded = read_settings(invocation)
    told = show_settings(loaded)
    if output.is_json:
        output.data(told)
    else:
        settings = told["settings"]
        assert is_object(settings)
        columns = (
            Column("SETTING", "path"),
            Column("VALUE", "value", wraps=True),
            Column("FROM", "from", tone="quiet"),
        )
        rows = [{"path": path, "value": _written(row["value"]), "from": row["from"]} for path, row in settings.items()]
        output.show(Table(columns, rows))
        for name, reason in loaded.disabled.items():
            output.say(f"{output.paint('disabled:', 'warn')} {printable(f'server {name}: {reason}')}")
    _refuse(loaded)


@app.command(epilog=example("limen config check", "limen config check --config ./limen.yaml"))
def check(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Report every problem of the settings with its file, line and fix.

    Ends with exit code 1 when Limen cannot use them, or has to leave a server out.
    """
    invocation = begin(context, config, as_json)
    _report(invocation, read_settings(invocation))


@app.command(epilog=example("limen config edit", "EDITOR='code --wait' limen config edit"))
def edit(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Open the settings file in your editor, and check it afterwards.

    The editor is $VISUAL, else $EDITOR. A file that is not there yet is made, with examples to start from.
    """
    invocation = begin(context, config, as_json)
    file = _file(read_settings(invocation))
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Tokens end up in here, so it is for its owner alone.
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as new:
            new.write(_NEW_FILE)
    program, *arguments = _editor(invocation.environment)
    # No pipes and no shell, which transport is for: the editor gets this terminal as it is.
    editor = os.posix_spawn(program, [program, *arguments, str(file)], invocation.environment)
    code = os.waitstatus_to_exitcode(os.waitpid(editor, 0)[1])
    if code != 0:
        raise ConfigInvalid(f"{program} ended with {code}", fix="set $EDITOR to an editor that works here")
    _report(invocation, read_settings(invocation))


def _file(loaded: Loaded) -> Path:
    return loaded.path or loaded.paths.config_file


def _editor(environment: Mapping[str, str]) -> list[str]:
    try:
        named = shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "")
    except ValueError as error:
        raise NotFound(f"$EDITOR names no program: {error}", fix="set $EDITOR to the editor you use") from None
    for words in [named] if named else [[name] for name in _EDITORS]:
        program = shutil.which(words[0], path=environment.get("PATH"))
        if program:
            return [program, *words[1:]]
    what = f"the editor {named[0]!r}" if named else "an editor"
    raise NotFound(f"{what} is not on the PATH", fix="set $EDITOR to the editor you use")


def _report(invocation: Invocation, loaded: Loaded) -> None:
    output = invocation.output
    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    if output.is_json:
        problems = [problem.as_dict() for problem in loaded.problems]
        output.data({"file": str(loaded.path) if loaded.path else None, "ok": not errors, "problems": problems})
    elif loaded.problems:
        columns = (
            Column("", "severity", tones={"error": "fail", "warning": "warn"}),
            Column("", "told", wraps=True),
        )
        for problem in loaded.problems:
            told = (problem.where, problem.message, f"fix: {problem.fix}")
            marks = (problem.severity, "", "")
            rows = [{"severity": mark, "told": text} for mark, text in zip(marks, told, strict=True) if text]
            output.show(Table(columns, rows, has_header=False))
    else:
        output.text(f"{loaded.path}: no problems" if loaded.path else "no settings file: the defaults are in force")
    if errors:
        counted = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise ConfigInvalid(f"{counted} in {_file(loaded)}", fix="`limen config edit` opens the file")


def _refuse(loaded: Loaded) -> None:
    if any(problem.is_fatal for problem in loaded.problems):
        raise ConfigInvalid(
            "some settings could not be read, and their defaults are shown", fix="`limen config check` lists them"
        )


def _written(value: object) -> str:
    """A value as one would write it in the file."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _ if is_array(value):
            return "[" + ", ".join(_written(item) for item in value) + "]"
        case _ if is_object(value):
            return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in value.items()) + "}"
        case _:
            return str(value)
