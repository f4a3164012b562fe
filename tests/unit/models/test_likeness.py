"""Texts are compared as a whole and word by word."""

import pytest

from limen.models.likeness import Likeness
from limen.models.static import StaticEmbedder

TEXTS = ["refund payment", "play music track", "", "weather forecast place"]


@pytest.fixture(scope="module")
def likeness() -> Likeness:
    """The texts above."""
    return Likeness(TEXTS, StaticEmbedder())


def best(scores: list[float]) -> int:
    """The place of the highest."""
    return max(range(len(scores)), key=lambda place: scores[place])


@pytest.mark.parametrize(("question", "place"), [("money back", 0), ("song", 1), ("rain tomorrow", 3)])
def test_what_means_the_same_is_alike_without_sharing_a_word(likeness: Likeness, question: str, place: int) -> None:
    alike = likeness.to(question)
    assert best(alike.near) == place
    assert best(alike.whole) == place


def test_the_same_words_are_as_alike_as_can_be_in_any_order(likeness: Likeness) -> None:
    alike = likeness.to("payment refund")
    assert alike.whole[0] == pytest.approx(1.0, abs=1e-5)
    assert alike.near[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("question", ["", "   ", "refund", "\U0001f600 \u2028"])
def test_every_text_has_its_place_and_every_score_is_a_share(likeness: Likeness, question: str) -> None:
    alike = likeness.to(question)
    assert len(alike.whole) == len(alike.near) == len(TEXTS)
    assert all(0 <= score <= 1.0001 for score in (*alike.whole, *alike.near))
    assert alike.whole[2] == alike.near[2] == 0
