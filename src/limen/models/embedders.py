"""Embedders by the name the settings give them; none of them goes online."""

from typing import Literal

from limen.errors import ConfigInvalid
from limen.models.ports import Embedder
from limen.models.static import StaticEmbedder

__all__ = ["EmbedderName", "open_embedder"]

EmbedderName = Literal["wordllama", "minilm", "none"]


def open_embedder(name: EmbedderName) -> Embedder | None:
    """The embedder of this name, or None when none is wanted; its model is read when it is first needed.

    Raises:
        ConfigInvalid: what it needs is not installed.
    """
    match name:
        case "wordllama":
            return StaticEmbedder()
        case "minilm":
            raise ConfigInvalid("memory.embedder: minilm is not built into this Limen; use wordllama or none")
        case "none":
            return None
