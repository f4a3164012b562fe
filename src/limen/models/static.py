"""Embeds text by averaging the word pieces of the table that ships inside the wordllama package; never goes online."""

import json
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from limen.errors import ConfigInvalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

__all__ = ["StaticEmbedder"]

_MODEL = "l2_supercat_256"
_TOKENIZER = "l2_supercat_tokenizer_config.json"
_LONGEST_CHARS = 20_000
_LONGEST_WORD = 40
"""Words beyond this are seldom met twice, so their pieces are not kept."""
_WORDS_KEPT = 1 << 17
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""What a piece begins with that follows a space."""


class StaticEmbedder:
    """The mean of a text's word pieces, of length 1. The table is read when it is first needed."""

    name = f"wordllama/{_MODEL}/2"
    dimensions = 256

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: tuple[_Pieces, NDArray[np.float32]] | None = None

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length 1 for each text; zeros for a text without a known piece."""
        import numpy as np

        pieces, table = self._load()
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        split = [text[:_LONGEST_CHARS].split(" ") for text in texts]
        pieces.learn(split)
        for place, words in enumerate(split):
            if ids := [found for word in words for found in pieces[word]]:
                rows[place] = table[ids].sum(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def embed_words(self, words: Sequence[str], weights: Sequence[float]) -> "NDArray[np.float32]":
        """The weighted mean of the words' pieces, of length 1; zeros when none is known."""
        import numpy as np

        pieces, table = self._load()
        total = np.zeros(self.dimensions, dtype=np.float32)
        for word, weight in zip(words, weights, strict=True):
            if ids := pieces[word[:_LONGEST_CHARS]]:
                total += np.float32(weight) * table[[*ids]].sum(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(total))
        return total / np.float32(length) if length > 0 else total

    def _load(self) -> "tuple[_Pieces, NDArray[np.float32]]":
        with self._lock:
            if self._loaded is None:
                home = _home()
                self._loaded = _Pieces(_tokenizer(home)), _table(home / "weights" / f"{_MODEL}.safetensors")
            return self._loaded


class _Pieces(dict[str, Sequence[int]]):
    """The numbers of a word's pieces, by word. No piece of the vocabulary reaches over a space."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def learn(self, texts: Iterable[Iterable[str]]) -> None:
        """Look up new words in one go, which takes half the time that one by one would."""
        met = {word for words in texts for word in words}
        words = [word for word in met if word not in self and 0 < len(word) <= _LONGEST_WORD]
        if not words:
            return
        found = self._tokenizer.encode(" ".join(words), add_special_tokens=False)
        parts: list[list[int]] = []
        for piece, token in zip(found.ids, found.tokens, strict=True):
            if token[0] == _SPACE:
                parts.append([])
            parts[-1].append(piece)
        # A word may hold the sign for a space itself; then nothing is learnt here.
        if len(parts) == len(words):
            self._make_room(len(words))
            self.update(zip(words, parts, strict=True))

    def __missing__(self, word: str) -> Sequence[int]:
        found = self._tokenizer.encode(word, add_special_tokens=False).ids if word else ()
        if len(word) <= _LONGEST_WORD:
            self._make_room(1)
            self[word] = found
        return found

    def _make_room(self, count: int) -> None:
        if len(self) + count > _WORDS_KEPT:
            self.clear()


def _home() -> Path:
    # Found without importing it: the package's own start-up reaches for a model hub.
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ConfigInvalid("the embedder wordllama is not installed: pip install wordllama, or set it to none")
    return Path(spec.origin).parent


def _tokenizer(home: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _table(path: Path) -> "NDArray[np.float32]":
    # A safetensors file: the length of a JSON header, the header, then the numbers.
    import numpy as np

    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    (entry,) = (entry for name, entry in json.loads(raw[8:begin]).items() if name != "__metadata__")
    kind = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
    first, last = entry["data_offsets"]
    return np.frombuffer(raw[begin + first : begin + last], dtype=kind).reshape(entry["shape"]).astype(np.float32)
