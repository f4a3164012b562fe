"""Errors form one tree, and every public code has exactly one face."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from limen.errors import FACES, LimenError
from tests.arch.source import modules
from tests.requirements import requirement


def kinds(root: type[LimenError] = LimenError) -> Iterator[type[LimenError]]:
    """Every error class of the tree that `limen.errors` declares, the root included."""
    yield root
    for child in root.__subclasses__():
        if child.__module__.startswith("limen."):
            yield from kinds(child)


@requirement("errors.one-table")
def test_a_code_belongs_to_one_class() -> None:
    declared: dict[str, set[str]] = defaultdict(set)
    for kind in kinds():
        if "code" in vars(kind):
            declared[kind.code].add(kind.__name__)
    shared = {code: names for code, names in declared.items() if len(names) > 1}
    assert not shared, "a code means one thing; inherit it or choose another"


@requirement("errors.one-table")
def test_every_code_has_a_face_and_every_face_a_code() -> None:
    assert {kind.code for kind in kinds()} == FACES.keys()


@requirement("errors.one-table")
def test_errors_are_declared_in_one_place() -> None:
    names = {kind.__name__ for kind in kinds()}
    elsewhere = [
        f"{module.name}: {node.name}"
        for module in modules()
        if module.name != "errors.py"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and names & {ast.unparse(base).split(".")[-1] for base in node.bases}
    ]
    assert not elsewhere, "a code is public: it is declared in limen.errors, beside its face"


def test_errors_are_named_after_what_happened() -> None:
    named = [kind.__name__ for kind in kinds() if kind.__name__.endswith("Exception")]
    assert not named
