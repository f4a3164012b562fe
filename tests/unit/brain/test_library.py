"""The brains of a folder: how they are made, found, put away and brought back."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.brain.library import Library, check_slug
from limen.brain.paths import slug_of
from limen.brain.records import Brain
from limen.errors import Conflict, InvalidArguments, NoBrain, NotFound
from tests.requirements import requirement


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data" / "brains")


@requirement("brain.registry")
def test_a_brain_is_found_by_slug_and_by_id_in_any_process(library: Library) -> None:
    made = library.create("Work Notes", visibility="tenant")
    assert (made.slug, made.name, made.visibility) == ("work-notes", "Work Notes", "tenant")
    assert made.id.startswith("brn_")
    other = Library(library.folder)
    assert other.get("work-notes") == other.get(made.id) == made
    assert other.folder_of(made) == library.folder / "work-notes"


@requirement("brain.registry")
def test_brains_are_listed_in_the_order_of_their_making(library: Library) -> None:
    assert library.list() == []
    made = [library.create(name) for name in ("zeta", "alpha", "mid")]
    assert library.list() == made


@requirement("brain.registry")
def test_a_generated_slug_is_made_unique_and_a_chosen_one_is_not(library: Library) -> None:
    assert [library.create("Notes").slug for _ in range(3)] == ["notes", "notes-2", "notes-3"]
    with pytest.raises(Conflict):
        library.create("Other", slug="notes")
    assert library.create("x" * 128).slug == "x" * 64
    assert library.create("x" * 128).slug == "x" * 62 + "-2"
    assert library.create("日本語").slug == "brain"


@pytest.mark.parametrize("slug", ["", "-a", "A", "a_b", "a" * 65, "a/b", "..", "a.b", "é"])
@requirement("brain.registry")
def test_a_slug_that_breaks_the_rules_is_refused(library: Library, slug: str) -> None:
    with pytest.raises(InvalidArguments):
        library.create("name", slug=slug)
    assert library.list() == []


@pytest.mark.parametrize("name", ["", "   ", "n" * 129])
@requirement("brain.registry")
def test_a_name_that_breaks_the_rules_is_refused(library: Library, name: str) -> None:
    with pytest.raises(InvalidArguments):
        library.create(name)


@given(st.text(min_size=1, max_size=200))
@requirement("brain.registry")
def test_every_name_gives_a_slug_that_keeps_the_rules(name: str) -> None:
    slug = slug_of(name, fallback="brain")
    assert check_slug(slug) == slug


@pytest.mark.parametrize("name", ["..", "../x", ".trash", "", "no such brain", "/etc", "\x00"])
@requirement("brain.registry")
def test_a_name_that_is_no_brain_is_no_brain(library: Library, name: str) -> None:
    library.create("one")
    with pytest.raises(NoBrain):
        library.get(name)


@requirement("brain.registry")
def test_the_named_brain_comes_before_the_default_and_that_before_the_oldest(library: Library) -> None:
    first, second, third = (library.create(name) for name in ("one", "two", "three"))
    assert library.resolve("three", "two") == third
    assert library.resolve(None, "two") == second
    assert library.resolve(None) == first
    with pytest.raises(NoBrain):
        library.resolve(None, "gone", create=True)
    with pytest.raises(NoBrain):
        library.resolve("gone", create=True)


@requirement("brain.registry")
def test_without_any_brain_only_a_write_makes_one(library: Library) -> None:
    with pytest.raises(NoBrain, match="limen brain create"):
        library.resolve(None)
    assert library.resolve(None, create=True).slug == "default"
    assert library.resolve(None).slug == "default"


@requirement("brain.registry")
def test_the_first_brain_bears_the_configured_name(library: Library) -> None:
    assert library.resolve(None, "Team Notes", create=True).slug == "team-notes"


@requirement("brain.registry")
def test_what_may_not_be_seen_does_not_exist(library: Library) -> None:
    library.create("hidden")
    shown = library.create("shown", visibility="public")

    def sees(brain: Brain) -> bool:
        return brain.visibility == "public"

    assert library.list(sees) == [shown]
    assert library.resolve(None, sees=sees) == shown
    with pytest.raises(NoBrain):
        library.get("hidden", sees)
    with pytest.raises(NoBrain):
        library.resolve(None, "hidden", sees=sees)


@requirement("brain.registry")
def test_a_deleted_brain_can_be_brought_back_until_it_is_purged(library: Library) -> None:
    made = library.create("one")
    (library.folder_of(made) / "a.md").write_text("kept")
    library.delete("one")
    assert library.list() == []
    assert [trashed.brain for trashed in library.trash()] == [made]
    assert library.restore("one") == made
    assert (library.folder_of(made) / "a.md").read_text() == "kept"
    library.delete(made.id)
    assert library.purge("one") == 1
    assert library.trash() == []
    with pytest.raises(NotFound):
        library.restore("one")


@requirement("brain.registry")
def test_a_brain_is_not_restored_over_another(library: Library) -> None:
    library.create("one")
    library.delete("one")
    second = library.create("one")
    with pytest.raises(Conflict):
        library.restore("one")
    library.delete("one")
    assert library.restore("one").id == second.id


@requirement("brain.registry")
def test_a_folder_that_is_no_brain_is_left_alone(library: Library) -> None:
    library.create("one")
    (library.folder / "two").mkdir()
    (library.folder / "file").touch()
    assert [brain.slug for brain in library.list()] == ["one"]
    assert library.create("two").slug == "two-2"
    assert library.create("file").slug == "file-2"


@requirement("brain.registry")
def test_a_brain_with_damaged_data_does_not_hide_the_others(library: Library) -> None:
    broken = library.create("broken")
    whole = library.create("whole")
    (library.folder_of(broken) / ".limen" / "brain.json").write_bytes(b"{")
    assert library.list() == [whole]
    with pytest.raises(NoBrain):
        Library(library.folder).get("broken")


@requirement("brain.registry")
def test_many_who_make_brains_at_once_all_get_their_own(library: Library) -> None:
    made: list[Brain] = []
    threads = [threading.Thread(target=lambda: made.append(Library(library.folder).create("same"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({brain.slug for brain in made}) == 12
    assert len(library.list()) == 12
    assert not list(library.folder.glob(".making-*"))


@requirement("brain.registry")
def test_many_who_make_the_first_brain_at_once_share_it(library: Library) -> None:
    found: list[Brain] = []
    threads = [
        threading.Thread(target=lambda: found.append(Library(library.folder).resolve(None, create=True)))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {brain.slug for brain in found} == {"default"}
    assert len({brain.id for brain in found}) == 1
