"""Embeds text by averaging the word pieces of the table that ships inside the wordllama package; never goes online."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from limen.errors import ConfigInvalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

__all__ = ["StaticEmbedder"]

_MODEL = "l2_supercat_256"
_TOKENIZER = "l2_supercat_tokenizer_config.json"
_LONGEST_CHARS = 20_000
_BATCH = 256


class StaticEmbedder:
    """The mean of a text's word pieces, of length 1. The table is read when it is first needed."""

    name = f"wordllama/{_MODEL}/1"
    dimensions = 256

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: tuple[Tokenizer, NDArray[np.float32]] | None = None

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length 1 for each text; zeros for a text without a known piece."""
        import numpy as np

        tokenizer, table = self._load()
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for begin in range(0, len(texts), _BATCH):
            batch = [text[:_LONGEST_CHARS] for text in texts[begin : begin + _BATCH]]
            for place, pieces in enumerate(_encoded(tokenizer, batch), start=begin):
                if ids := pieces.ids:
                    rows[place] = table[ids].sum(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def embed_words(self, words: Sequence[str], weights: Sequence[float]) -> "NDArray[np.float32]":
        """The weighted mean of the words' pieces, of length 1; zeros when none is known."""
        import numpy as np

        tokenizer, table = self._load()
        total = np.zeros(self.dimensions, dtype=np.float32)
        for word, weight in zip(words, weights, strict=True):
            # One by one: a batch wakes a pool of threads, which costs more than a few words.
            if ids := tokenizer.encode(word[:_LONGEST_CHARS], add_special_tokens=False).ids:
                total += np.float32(weight) * table[ids].sum(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(total))
        return total / np.float32(length) if length > 0 else total

    def _load(self) -> "tuple[Tokenizer, NDArray[np.float32]]":
        with self._lock:
            if self._loaded is None:
                home = _home()
                self._loaded = _tokenizer(home), _table(home / "weights" / f"{_MODEL}.safetensors")
            return self._loaded


def _encoded(tokenizer: "Tokenizer", texts: Sequence[str]) -> "Sequence[Encoding]":
    if len(texts) == 1:
        # A batch wakes a pool of threads, which costs more than one text.
        return [tokenizer.encode(texts[0], add_special_tokens=False)]
    return tokenizer.encode_batch_fast(texts, add_special_tokens=False)


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
