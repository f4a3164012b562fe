"""Which journal commits become one git commit, and what it says; pure.

A fold ends before a path would change again to something else, so every version is in some git tree.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from limen.brain.records import Commit, Operation

__all__ = ["COMMITTER", "effects_of", "folds", "message_of", "person_of", "signed", "trailers_of"]

COMMITTER = ("Limen", "limen@localhost")
_TRAILER = re.compile(r"Limen-Commit: (\S+)")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f<>]+")
_NOT_IN_MAIL = re.compile(r"[^A-Za-z0-9.!#$%&'*+/=?^_`{|}~@-]+")


def folds(commits: Sequence[Commit], most: int) -> Iterator[Sequence[Commit]]:
    """Cut a run of commits into groups of at most `most`, none of which hides a version of a document."""
    group: list[Commit] = []
    state: dict[str, str] = {}
    for commit in commits:
        effects = effects_of(commit.operations)
        if group and (len(group) >= most or any(state.get(path, after) != after for path, after in effects.items())):
            yield group
            group, state = [], {}
        group.append(commit)
        state.update(effects)
    if group:
        yield group


def effects_of(operations: Sequence[Operation]) -> dict[str, str]:
    """What each path holds after these operations: a checksum, or an empty string when nothing is left there."""
    effects: dict[str, str] = {}
    for operation in operations:
        if operation.kind == "deleted":
            effects[operation.path] = ""
        elif operation.kind == "renamed":
            effects[operation.old_path] = ""
    for operation in operations:
        if operation.kind != "deleted":
            effects[operation.path] = operation.checksum_sha256
    return effects


def message_of(group: Sequence[Commit]) -> str:
    """The message of the git commit that carries these commits."""
    if len(group) == 1:
        body = [_subject(group[0]), *_body(group[0].message)]
    else:
        body = [f"{_subject(group[-1])} and {len(group) - 1} more", ""]
        body += [f"- {_subject(commit)} ({person_of(commit)[0]})" for commit in group]
    return "\n".join([*body, "", *(f"Limen-Commit: {commit.id}" for commit in group), ""])


def _subject(commit: Commit) -> str:
    return " ".join(commit.reason.replace("\0", " ").split()) or "change"


def _body(message: str) -> list[str]:
    text = message.replace("\0", " ").replace("\r\n", "\n").strip()
    return ["", text] if text else []


def trailers_of(message: str) -> list[str]:
    """The journal commits that a git commit says it carries."""
    last = message.rstrip("\n").rpartition("\n\n")[2].split("\n")
    found = [_TRAILER.fullmatch(line) for line in last]
    return [match[1] for match in found if match] if all(found) else []


def person_of(commit: Commit) -> tuple[str, str]:
    """Name and mail address of the author, as git can hold them."""
    name = _NOT_IN_NAMES.sub(" ", commit.author or commit.actor).strip(" .,:;\"'") or "unknown"
    email = _NOT_IN_MAIL.sub("-", commit.email or f"{commit.actor}@localhost").strip("-.") or "unknown@localhost"
    return name, email


def signed(person: tuple[str, str], at: str) -> str:
    """A person with a time, in git's form."""
    seconds = max(0, int(datetime.fromisoformat(at).timestamp()))
    return f"{person[0]} <{person[1]}> {seconds} +0000"
