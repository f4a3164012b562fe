"""Reads sets of questions: conversations with the turns that answer, or folders of corpus, queries and judgements."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Collection", "Place", "Question", "Source", "load"]

ADVERSARIAL = 5
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a document that can be an answer."""

    id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A document as it goes in, and the answerable places in it."""

    id: str
    path: str
    content: str
    places: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and which places answer it."""

    text: str
    category: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents that share a brain, and the questions about them."""

    id: str
    sources: Sequence[Source]
    questions: Sequence[Question]
    owner: dict[str, str] = field(default_factory=dict[str, str])
    """The document of each place."""


def load(path: Path) -> Iterator[Collection]:
    """Every collection of a file of conversations or of a folder in the form of BEIR."""
    if path.is_dir():
        yield _folder(path)
        return
    for conversation in json.loads(path.read_text(encoding="utf-8")):
        yield _conversation(conversation)


def _conversation(data: dict) -> Collection:
    sources = [_session(data["id"], session) for session in data["sessions"]]
    owner = {place.id: source.id for source in sources for place in source.places}
    questions = []
    for item in data["qa"]:
        answers = frozenset(found for text in item["evidence"] for found in _EVIDENCE.findall(text) if found in owner)
        if answers and item["category"] != ADVERSARIAL:
            category = CATEGORIES.get(item["category"], str(item["category"]))
            questions.append(Question(item["q"], category, answers))
    return Collection(data["id"], sources, questions, owner)


def _session(conversation: str, session: dict) -> Source:
    content = f"---\ntitle: Session {session['n']}\ndate: {session['date']}\ntype: conversation\n---\n"
    places = []
    for turn in session["turns"]:
        caption = f" [shares {turn['caption']}]" if turn.get("caption") else ""
        said = " ".join(f"{turn['text']}{caption}".split())
        content += "\n"
        start = len(content)
        content += f"**{turn['speaker']}:** {said}\n"
        places.append(Place(turn["id"], start, len(content) - 1, f"{turn['speaker']}: {said}"))
    return Source(f"S{session['n']}", f"transcripts/session-{session['n']:03}.md", content, places)


def _folder(path: Path) -> Collection:
    sources = []
    with (path / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            title, text = item.get("title", ""), item["text"]
            content = f"# {title}\n\n{text}\n" if title else f"{text}\n"
            name = re.sub(r"[^A-Za-z0-9_-]", "-", str(item["_id"]))[:200]
            place = Place(str(item["_id"]), 0, len(content), f"{title} {text}")
            sources.append(Source(str(item["_id"]), f"wiki/{name}.md", content, [place]))
    known = {source.id for source in sources}
    wanted: dict[str, set[str]] = {}
    judged = next(
        path / "qrels" / f"{part}.tsv" for part in ("test", "dev") if (path / "qrels" / f"{part}.tsv").exists()
    )
    with judged.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if int(row["score"]) > 0 and row["corpus-id"] in known:
                wanted.setdefault(row["query-id"], set()).add(row["corpus-id"])
    questions = []
    with (path / "queries.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            if answers := wanted.get(str(item["_id"])):
                questions.append(Question(item["text"], "all", frozenset(answers)))
    return Collection(path.name, sources, questions, {source.id: source.id for source in sources})
