"""`limen init`: writes a first settings file with everything explained in it. Leaves one that is there alone."""

import json
import sys
from pathlib import Path
from typing import Final

import typer

from limen.cli.loading import read_settings
from limen.cli.parameters import AsJson, ConfigFile, begin, example, new_app
from limen.cli.printable import printable
from limen.config.editing.files import read_state, write_state
from limen.config.paths import expand_home

__all__ = ["app", "first_settings"]

app = new_app()

SAMPLE: Final = "sample"
_TEXT: Final = """\
# Settings of Limen. Everything may be left out; `limen config show` tells what is in force,
# `limen config check` what is wrong. Variables are written ${{NAME}} or ${{NAME:-default}}.

# The most that clients may do: read, write (remember things, call tools that write) or admin.
tier: read

# Folders that tools may read files from; also told to servers that ask for roots.
allowed_file_roots: []

# Other MCP servers, each under a name of its own. Clients see their tools as `name__tool`.
# `limen mcp add` and `limen client import` write here, and `limen mcp doctor` tries them.
servers:
  # Comes with Limen and has two harmless tools, `echo` and `get_time`.
  # `limen mcp update sample --enable` switches it on; then try: limen call sample echo text=hello
  {name}:
    command: {command}
    args: ["-m", "limen.samples.server"]
    enabled: false

  # A server that is reached over HTTP:
  # docs:
  #   url: https://mcp.example.com/mcp
  #   headers: {{Authorization: "Bearer ${{DOCS_TOKEN}}"}}

  # A program that is started, with a choice of its tools:
  # files:
  #   command: npx
  #   args: ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/srv/files"]
  #   tags: [mcp.files]
  #   tools:
  #     - {{name: read_text_file, alias: read}}
  #     - {{name: list_directory}}

  # Any command-line program, by its help text:
  # git:
  #   command: git
  #   cli: true
  #   cli_only: [log, status, diff]
"""


def first_settings(python: str) -> str:
    """The text of a first settings file; `python` is the interpreter that Limen is installed for."""
    return _TEXT.format(name=SAMPLE, command=json.dumps(python, ensure_ascii=False))


@app.command(epilog=example("limen init", "limen init --config ./limen.yaml"))
def init(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Write a commented settings file, with a sample server.

    The sample is switched off. A file that is there already is left as it is.
    """
    invocation = begin(context, config, as_json)
    loaded = read_settings(invocation)
    if invocation.config is not None:
        path = Path.cwd() / expand_home(str(invocation.config), invocation.environment)
    else:
        path = loaded.path or loaded.paths.config_file
    state = read_state(path)
    is_new = state.data is None
    if is_new:
        write_state(state, first_settings(sys.executable).encode())
    if invocation.output.is_json:
        invocation.output.data({"file": str(path), "written": is_new})
    elif is_new:
        invocation.output.say(f"Wrote {printable(str(path))}")
        invocation.output.say("Next: limen mcp servers, limen client import, limen serve")
    else:
        invocation.output.say(f"{printable(str(path))} is there already and was left as it is")
