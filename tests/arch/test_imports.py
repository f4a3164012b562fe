"""What may be imported where, beyond the layers (those are the contracts of import-linter)."""

import re
import sys
import tomllib

from tests.arch.source import modules
from tests.environment import ROOT

# A library or a dangerous door, and the only parts that may open it.
HOMES: dict[str, set[str]] = {
    "apsw": {"db"},
    "sqlite3": set(),
    "starlette": {"server", "web"},
    "uvicorn": {"server", "web"},
    "httptools": {"server", "web", "transport"},
    "httpx2": {"brain", "cli", "gateway", "transport"},
    "mcp": {"gateway"},
    "keyring": {"gateway"},
    "cryptography": {"gateway"},
    "typer": {"cli"},
    "rich": {"cli"},
    "yaml": {"brain", "config"},
    "numpy": {"brain", "models"},
    "tokenizers": {"models"},
    "wordllama": set(),
    "Stemmer": {"brain"},
    "pygit2": {"brain"},
    "openpyxl": {"brain"},
    "pypdfium2": {"brain"},
    "watchfiles": {"brain"},
    "platformdirs": {"config"},
    "subprocess": {"transport"},
    "multiprocessing": set(),
    "pickle": set(),
}
# `protocol` is MCP on paper: these would let it touch the world.
DOORS_OUT = {"asyncio", "anyio", "socket", "ssl", "selectors", "subprocess", "threading", "os", "pathlib", "io"}
# The name one imports, where it is not the name one installs.
IMPORT_NAMES = {"pyyaml": "yaml", "pystemmer": "Stemmer"}


def test_libraries_stay_in_their_homes() -> None:
    strays = [
        f"{module.name} imports {library}"
        for module in modules()
        for library in {name.split(".")[0] for name in module.imports()} & HOMES.keys()
        if module.part not in HOMES[library]
    ]
    assert not strays


def test_the_protocol_does_no_input_or_output() -> None:
    doors = [
        f"{module.name} imports {name}"
        for module in modules()
        if module.part == "protocol"
        for name in module.imports()
        if name.split(".")[0] in DOORS_OUT
    ]
    assert not doors


def test_the_root_package_imports_nothing() -> None:
    root = next(module for module in modules() if module.name == "__init__.py")
    assert not list(root.imports())


def test_run_time_code_imports_only_what_is_declared_for_run_time() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["office"]]
    named = {re.split(r"[^\w-]", line, maxsplit=1)[0].lower() for line in lines}
    declared = {IMPORT_NAMES.get(name, name) for name in named}
    allowed = declared | sys.stdlib_module_names | {"limen"}
    undeclared = [
        f"{module.name} imports {name}"
        for module in modules()
        for name in module.imports()
        if name.split(".")[0] not in allowed
    ]
    assert not undeclared
