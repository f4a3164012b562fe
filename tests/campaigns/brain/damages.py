"""Spoils the index of a brain again and again, also under those who use it, and holds every answer against the truth.

The truth is another index over the same documents, which nobody spoils. An error must be one of ours, and after it, at
the latest after the index was made anew by hand, the answer must be right.

Words of documents that have died still count a little for how rare a word is, until they are merged away. So the truth
takes the same steps as the index, and is made anew when that is; only when damage has set the index back by some steps,
and it took them again in another way, may scores differ by that little.
"""

import logging
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec

from limen.brain.documents.vault import Vault, open_vault
from limen.brain.index.sqlindex import SqlitePassageIndex
from limen.brain.ingest.pages import page_of
from limen.brain.library import Library
from limen.brain.records import ChangeSet
from limen.brain.retrieval.answers import Hit, SearchRequest
from limen.brain.retrieval.following import Follower
from limen.brain.retrieval.search import Searcher
from limen.models.embedders import open_embedder
from tests.campaigns.brain.asking import SLUG, Asker, Reply
from tests.campaigns.brain.comparing import NOISE, difference
from tests.campaigns.brain.pages import Pages
from tests.campaigns.brain.spoiling import KINDS, Spoiler
from tests.campaigns.brain.tally import Tally

DOCUMENTS = 400
ROUNDS_PER_REPORT = 25
NOISE_OF_THE_DEAD = 0.05
CLEAR = frozenset({"index_broken", "store_unavailable"})


def run_damages(tally: Tally, rng: Random, rounds: int) -> None:
    """So many rounds, or the first thing that is wrong."""
    # The truth is made anew again and again, and would say so each time.
    logging.getLogger("limen").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="limen-damage-") as name:
        folder = Path(name)
        brain = Library(folder / "brains").create("Campaign", SLUG)
        root = folder / "brains" / brain.slug
        vault = open_vault(root, brain.id)
        truth = Truth(vault, folder / "truth" / "index.db")
        (folder / "copies").mkdir()
        campaign = Damages(tally, rng, folder, vault, truth, Spoiler(rng, root / ".limen", folder / "copies"))
        try:
            campaign.begin()
            while (number := tally.figures["damage_rounds"]) < rounds and not tally.wrong:
                campaign.run(number)
                if number % ROUNDS_PER_REPORT == 0:
                    print(f"{number} damages, {tally.figures['damage_rebuilt']} rebuilt", flush=True)
        finally:
            if tally.wrong:
                print((folder / "asker.log").read_text("utf-8", "replace")[-8000:])
            campaign.end()
            truth.close()
            vault.close()


class Truth:
    """An index over the same documents that nobody spoils."""

    def __init__(self, vault: Vault, path: Path) -> None:
        embedder = open_embedder("wordllama")
        self._index = SqlitePassageIndex(path, embedder)
        self._follower = Follower(vault, self._index, page_of)
        self._searcher = Searcher(self._index, embedder)

    def ask(self, question: SearchRequest) -> Sequence[Hit]:
        """What is right."""
        hits = self._follower.fresh(lambda: self._searcher.search(question)).hits
        # As it comes over a wire, which has no tuples.
        return msgspec.json.decode(msgspec.json.encode(hits), type=list[Hit])

    def rebuild(self) -> None:
        """Begin anew."""
        self._follower.rebuild()

    def close(self) -> None:
        """Let go of it."""
        self._index.close()


@dataclass(slots=True)
class Damages:
    """One brain, two processes that use it, and who spoils its index."""

    tally: Tally
    rng: Random
    folder: Path
    vault: Vault
    truth: Truth
    spoiler: Spoiler
    askers: list[Asker] = field(default_factory=list[Asker])
    pages: Pages = field(init=False)
    known: set[str] = field(default_factory=set[str])
    """The vectors of every index that ever was there."""
    is_set_back: bool = False
    """Whether it may be one that damage has set back."""

    def __post_init__(self) -> None:
        self.pages = Pages(self.rng)

    def begin(self) -> None:
        """Fill the brain, and start those who use it."""
        first = self.pages.first(DOCUMENTS)
        for begin in range(0, len(first), 100):
            self.vault.commit(ChangeSet(changes=first[begin : begin + 100], actor="campaign", reason="begin"))
        self.askers = [self._hire(), self._hire()]
        for figure in ("rounds", "rebuilt", "errors_shown", "reindexed_by_hand", "wrong_answers"):
            self.tally.figures[f"damage_{figure}"] += 0

    def run(self, number: int) -> None:
        """One round: use it, spoil it, and ask everybody."""
        rng = self.rng
        self._use()
        state = rng.choice(("closed", "killed", "open in one", "open in one", "open in both"))
        self._bring(state)
        if rng.random() < 0.4:
            self.spoiler.copy()
        kind = rng.choice(list(KINDS))
        done = self.spoiler.spoil(kind, is_open=state.startswith("open"))
        if not done:
            return
        self.is_set_back = True
        if rng.random() < 0.3:
            self._change()
        self.tally.figures["damage_rounds"] += 1
        self.tally.figures[f"damage_{kind}"] += 1
        self.tally.figures[f"damage_while_{state.replace(' ', '_')}"] += 1
        for asker in rng.sample(self.askers, 2):
            self._check(asker, f"round {number}, {state}, {kind}: {done}")
        if self.is_set_back and rng.random() < 0.3:
            # Else it would be held against the truth with less and less rigour.
            self._expect(self.askers[0].reindex(), "made anew")
            self.truth.rebuild()
            self._is_new()
            self._check(self.askers[0], "made anew")

    def end(self) -> None:
        """Send everybody home."""
        for asker in self.askers:
            asker.kill()

    def _hire(self) -> Asker:
        return Asker(self.folder / "brains", self.folder / "asker.log")

    def _use(self) -> None:
        for asker in self.askers:
            if self.rng.random() < 0.6:
                self._change()
            if self.rng.random() < 0.6:
                self._check(asker, "between damages")

    def _change(self) -> None:
        self.vault.commit(ChangeSet(changes=self.pages.changes(), actor="campaign", reason="change"))

    def _bring(self, state: str) -> None:
        self.rng.shuffle(self.askers)
        one, other = self.askers
        if state != "closed":
            self._check(one, "before the damage")
        if state == "open in both":
            self._check(other, "before the damage")
        elif other.is_open:
            self._expect(other.close(), "closing")
        if state == "killed":
            # The log stays, which who ends well puts into the database.
            one.kill()
            self.askers[0] = self._hire()
        elif state == "closed" and one.is_open:
            self._expect(one.close(), "closing")

    def _check(self, asker: Asker, where: str) -> None:
        questions = self.pages.questions()
        began = time.monotonic()
        reply = self._asked(asker, questions, where)
        if reply.code:
            return
        rights, noise = [self._truths(questions)], NOISE_OF_THE_DEAD if self.is_set_back else NOISE
        was_there = bool(self.known)
        if self._is_new():
            self.tally.figures["damage_rebuilt"] += was_there
            self.tally.took("rebuild", time.monotonic() - began)
            self.truth.rebuild()
            # The first questions may have been answered before the damage was met.
            rights.append(self._truths(questions))
        for place, question in enumerate(questions):
            fault = self._fault_of(reply.answers[place], [found[place] for found in rights], noise)
            if fault:
                self.tally.figures["damage_wrong_answers"] += 1
                self.tally.blame([f"{question.query!r} {question.mode}: {fault}"], where)

    def _truths(self, questions: Sequence[SearchRequest]) -> Sequence[Sequence[Hit]]:
        return [self.truth.ask(question) for question in questions]

    def _is_new(self) -> bool:
        """Whether the index was made anew since somebody last asked: each has vectors of its own name."""
        new = {file.name for file in self.spoiler.files() if file.suffix == ".vectors"} - self.known
        self.known |= new
        self.is_set_back = self.is_set_back and not new
        return bool(new)

    def _fault_of(self, found: Sequence[Hit], rights: Sequence[Sequence[Hit]], noise: float) -> str:
        self.tally.figures["damage_answers"] += 1
        if not all(difference(found, right, NOISE) for right in rights):
            return ""
        faults = [difference(found, right, noise) for right in rights]
        self.tally.figures["damage_answers_with_noise"] += not all(faults)
        return faults[-1] if all(faults) else ""

    def _asked(self, asker: Asker, questions: Sequence[SearchRequest], where: str) -> Reply:
        reply = Reply() if asker.is_open else asker.open()
        for attempt in range(3):
            if attempt == 2:
                self.tally.figures["damage_reindexed_by_hand"] += 1
                reply = asker.reindex()
            if attempt or not reply.code:
                reply = asker.ask(questions)
            if not reply.code:
                return reply
            self._expect(reply, where)
        self.tally.blame([f"no right answer in the end: {reply.code}: {reply.message}"], where)
        return reply

    def _expect(self, reply: Reply, where: str) -> None:
        if reply.code in CLEAR:
            self.tally.figures["damage_errors_shown"] += 1
            print(f"{where}: {reply.code}: {reply.message}", flush=True)
        elif reply.code:
            self.tally.blame([f"{reply.code}: {reply.message}"], where)
