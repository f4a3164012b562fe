"""Makes markdown notes of two to four kilobytes that read like notes: headings, paragraphs, lists, some code."""

import random

__all__ = ["make_text"]

_SUBJECTS = """
deploy release billing search cache index queue login session invoice report backup cluster gateway
""".split()  # noqa: SIM905 - words to read, not a list
_VERBS = "moves breaks follows replaces starts checks keeps drops stores reads writes limits".split()  # noqa: SIM905
_REST = [
    "before",
    "the",
    "morning",
    "after",
    "every",
    "restart",
    "when",
    "nobody",
    "looks",
    "because",
    "the",
    "disk",
    "was",
    "full",
    "with",
    "two",
    "retries",
    "on",
    "staging",
    "as",
    "agreed",
    "in",
    "March",
    "since",
    "the",
    "last",
    "audit",
    "although",
    "tests",
    "were",
    "green",
    "without",
    "a",
    "warning",
    "for",
    "the",
    "new",
    "customer",
    "by",
    "hand",
]


def _sentence(chance: random.Random) -> str:
    words = [chance.choice(_SUBJECTS), chance.choice(_VERBS), *chance.choices(_REST, k=chance.randint(6, 14))]
    words.insert(3, f"{chance.choice(_SUBJECTS)}-{chance.randint(1, 5000)}")
    return " ".join(words).capitalize() + "."


def make_text(chance: random.Random, number: int) -> str:
    """One note; the same chance gives the same note."""
    title = f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {number}"
    lines = ["---", f"tags: [{chance.choice(_SUBJECTS)}, note]", "date: 2024-03-01", "---", f"# {title}", ""]
    for part in range(chance.randint(3, 5)):
        lines += [f"## {chance.choice(_SUBJECTS).capitalize()} {part}", ""]
        for _ in range(chance.randint(1, 3)):
            lines += [" ".join(_sentence(chance) for _ in range(chance.randint(2, 4))), ""]
        if chance.random() < 0.3:
            lines += [f"- {_sentence(chance)}" for _ in range(3)] + [""]
        if chance.random() < 0.2:
            lines += ["```sh", f"run --job {chance.randint(1, 99)}", "```", ""]
    return "\n".join(lines)
