"""Variables as other programs write them, turned into `${NAME}`. Reads no variable: a secret stays where it is."""

import re
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from limen.config.variables import expand

__all__ = ["Style", "Translation", "variable_name"]

Style = Literal["braces", "dollar", "curly"]
"""Besides `${…}`: `dollar` also means a bare `$NAME`, `curly` means `{env:NAME}` and `{file:PATH}`."""

_BRACES = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<inside>[^{}]*)\}|(?P<open>\$\{)")
_DOLLAR = re.compile(r"\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_CURLY = re.compile(r"\{(?P<kind>env|file):(?P<inside>[^{}]*)\}")
_ENV = re.compile(r"env[:.](?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^{}]*)?")
_FOLDERS: Final = ("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR")
_SIGNS: Final = {"/": "/", "pathSeparator": "/", "userHome": "${HOME}"}


class Translation(Struct):
    """Turns the texts of one entry; gathers what to tell about it."""

    style: Style = "braces"
    folder: Path | None = None
    """The project the file belongs to: what `${workspaceFolder}` means."""
    notes: list[str] = field(default_factory=list[str])

    def text(self, text: str) -> str:
        """The text with every variable in the form that Limen reads."""
        if self.style == "curly":
            text = _CURLY.sub(self._curly, text)
        if "$" not in text:
            return text
        if self.style == "dollar":
            text = _DOLLAR.sub(r"${\g<name>}", text)
        return _BRACES.sub(self._braces, text)

    def _curly(self, found: re.Match[str]) -> str:
        if found["kind"] == "env" and expand(f"${{{found['inside']}}}", {found["inside"]: ""}).is_complete:
            return f"${{{found['inside']}}}"
        return self._renamed(found[0], Path(found["inside"]).name)

    def _braces(self, found: re.Match[str]) -> str:
        if found["escaped"]:
            return found[0]
        if found["open"]:
            self._note("a `${` that begins no variable is kept as plain text")
            return "$${"
        inside = found["inside"]
        if inside in _FOLDERS and self.folder is not None:
            return str(self.folder)
        if inside in _SIGNS:
            return _SIGNS[inside]
        env = _ENV.fullmatch(inside)
        if env is not None:
            return f"${{{env['name']}{env['default'] or ''}}}"
        if not expand(found[0], {}).malformed:
            return found[0]
        if inside.startswith("input:"):
            name = variable_name(inside[6:])
            self._note(f"its client asks for `{inside[6:]}` when it starts: set the variable {name} instead")
            return f"${{{name}}}"
        return self._renamed(found[0], inside)

    def _renamed(self, written: str, name: str) -> str:
        new = variable_name(name)
        self._note(f"`{written}` means something to its client alone: set the variable {new} instead")
        return f"${{{new}}}"

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def variable_name(text: str) -> str:
    """The text as the name of a variable."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return f"V_{name}" if not name or name[0].isdigit() else name
