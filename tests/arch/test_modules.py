"""A file fits in a head, says what it owns, and is named after something of the domain."""

import ast
import re

from tests.arch.source import modules

MOST_LINES = 450
EMPTY_WORDS = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "misc",
    "manager",
    "managers",
    "stuff",
    "shared",
    "base2",
}
STALE_PREFIX = re.compile(r"^(new|old|v\d+)_")


def test_no_module_outgrows_a_head() -> None:
    grown = {module.name: lines for module in modules() if (lines := module.text.count("\n")) > MOST_LINES}
    assert not grown, f"split these, they are past {MOST_LINES} lines"


def test_every_module_says_what_it_owns() -> None:
    silent = [module.name for module in modules() if not ast.get_docstring(module.tree)]
    assert not silent, "these begin without a docstring"


def test_modules_are_named_after_something() -> None:
    empty = [module.name for module in modules() if EMPTY_WORDS & set(module.path.stem.split("_"))]
    stale = [module.name for module in modules() if STALE_PREFIX.match(module.path.stem)]
    assert not empty + stale, "these names say nothing, or only when the file was written"


def test_no_module_repeats_the_name_of_its_folder() -> None:
    repeated = [
        module.name
        for module in modules()
        if module.path.stem.startswith(f"{module.path.parent.name.removesuffix('s')}_")
    ]
    assert not repeated, "the folder says it already"
