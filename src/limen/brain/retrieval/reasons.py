"""Why a hit matched, in a few plain words; says only what its components show."""

from collections.abc import Mapping, Sequence

__all__ = ["reason"]

MOST_WORDS = 6
_CLOSE_IN_MEANING = 0.35
_NOTABLE = 0.5


def reason(components: Mapping[str, float], words: Sequence[str], phrases: Sequence[str], date_words: str) -> str:
    """One line for people: the words and phrases found, and what else spoke for the passage."""
    parts: list[str] = []
    plain = [word for word in words if word not in phrases]
    if phrases:
        parts.append("says " + _quoted(phrases))
    if plain:
        parts.append(("has " if not phrases else "and ") + _quoted(plain))
    if components.get("semantic", 0.0) >= _CLOSE_IN_MEANING:
        parts.append("close in meaning")
    if components.get("neighbours", 0.0) > 0 and not plain:
        parts.append("stands beside passages that match")
    if components.get("about", 0.0) > 0:
        parts.append("its title, tags, path or date match")
    if date_words and components.get("date", 0.0) >= _NOTABLE:
        parts.append(f"dated as asked ({date_words})")
    if components.get("context", 0.0) >= _NOTABLE:
        parts.append("fits the conversation")
    return "; ".join(parts) or "the nearest there is"


def _quoted(words: Sequence[str]) -> str:
    shown = ", ".join(f"“{word}”" for word in words[:MOST_WORDS])
    return shown if len(words) <= MOST_WORDS else f"{shown} and {len(words) - MOST_WORDS} more"
