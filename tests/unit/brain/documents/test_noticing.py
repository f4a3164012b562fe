"""Which files are meant to stay, and which are in passing."""

import pytest

from limen.brain.documents.noticing import is_document_name, is_document_path


@pytest.mark.parametrize("name", ["a.md", "README", "a.tmp.md", "~a.md", "_index.md", "#1.md", "4913", "a b.txt"])
def test_ordinary_files_are_documents(name: str) -> None:
    assert is_document_name(name)
    assert is_document_path(f"folder/{name}")


@pytest.mark.parametrize("name", [".a.md.swp", ".hidden", "a.md~", "#a.md#", "~$a.docx", "a.tmp", "a.part", "a.lock"])
def test_hidden_and_passing_files_are_not(name: str) -> None:
    assert not is_document_name(name)
    assert not is_document_path(f"folder/{name}")


def test_nothing_in_a_hidden_folder_is_a_document_by_itself() -> None:
    assert not is_document_path("notes/.trash/a.md")
