"""The embedder inside the package: no network, whole rows, and alike for what means alike."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.models.static import StaticEmbedder


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


def test_each_text_gets_a_row_of_length_one(embedder: StaticEmbedder) -> None:
    rows = embedder.embed(["The ship left the harbor.", "東京", "x" * 100_000])
    assert rows.shape == (3, embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_a_text_without_words_is_zero_and_no_text_is_no_row(embedder: StaticEmbedder) -> None:
    assert not embedder.embed([""]).any()
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_text_is_embedded_alone_as_among_others(embedder: StaticEmbedder) -> None:
    texts = [f"text number {number} about ships" for number in range(600)]
    assert np.allclose(embedder.embed(texts)[[0, 300, 599]], embedder.embed([texts[0], texts[300], texts[599]]))


@given(texts=st.lists(st.text(st.sampled_from("ab \n.\u2581é東-"), max_size=30), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_words_met_together_are_embedded_as_when_met_alone(embedder: StaticEmbedder, texts: list[str]) -> None:
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in reversed(texts)])[::-1]
    assert np.allclose(together, alone, atol=1e-6)
    for text, row in zip(texts, together, strict=True):
        words = text.split(" ")
        assert np.allclose(embedder.embed_words(words, [1] * len(words)), row, atol=1e-4)


def test_words_of_equal_weight_are_the_text_and_a_heavier_one_pulls_it(embedder: StaticEmbedder) -> None:
    text, soup = embedder.embed(["ship soup", "soup"])
    assert np.allclose(embedder.embed_words(["ship", "soup"], [1, 1]), text, atol=1e-4)
    assert embedder.embed_words(["ship", "soup"], [1, 5]) @ soup > text @ soup
    assert not embedder.embed_words([], []).any()


def test_what_means_alike_is_near(embedder: StaticEmbedder) -> None:
    car, auto, soup = embedder.embed(
        ["She bought a new car.", "He purchased an automobile.", "The soup was too salty."]
    )
    assert car @ auto > car @ soup + 0.1


def test_nothing_that_could_go_online_is_imported() -> None:
    script = (
        "import sys; from limen.models.static import StaticEmbedder; assert 'numpy' not in sys.modules;"
        "StaticEmbedder().embed(['x']);"
        "print([name for name in sys.modules if name.split('.')[0] in {'wordllama', 'huggingface_hub', 'requests'}])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
