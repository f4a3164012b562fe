"""Documents that a search tells apart, how they change, and questions about them."""

from collections.abc import Sequence
from random import Random

from limen.brain.index.ports import Filters
from limen.brain.records import Change, Delete, Rename, Write
from limen.brain.retrieval.answers import SearchRequest

__all__ = ["Pages"]

TODAY = "2024-06-30"
FOLDERS = ("memory/global", "memory/project/harbour", "memory/project/orchard", "wiki", "raw")
TAGS = ("ledger", "voyage", "garden", "letters")
PLAIN = """
anchor autumn baker barley bell bishop bridge candle canvas carpenter cellar chapel chimney cider clock copper
cottage cousin cradle dairy dock drought ferry fiddle flood forge fountain gale gallery goose granary gravel harvest
hedge heron honey iron ivory jacket kettle kitchen ladder lantern leather library linen lobster loom mason meadow
merchant midnight miller mirror mustard needle nephew orchard oven owl oyster parade parlour pear pebble pewter
pigeon pilgrim plough pocket porcelain quarry quilt rabbit rafter raven ribbon river saddle sailor salmon school
shepherd shutter silver sparrow spindle stable steeple storm sugar tailor tavern thatch thistle timber trout tunnel
turnip velvet village vinegar violin wagon walnut weaver wharf wheel willow window winter wolf wool
""".split()  # noqa: SIM905 - a hundred words are read more easily so
ROOTS = ("bar", "dol", "fen", "gor", "hul", "kem", "lor", "mav", "nib", "pol", "rus", "tam", "vor", "wex", "zul")
COINED = [a + b + c for a in ROOTS for b in ROOTS[:6] for c in ("an", "ek", "il", "os")]


class Pages:
    """The documents there are, by their paths, and what becomes of them."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._paths: list[str] = []
        self._number = 0

    def first(self, count: int) -> Sequence[Change]:
        """So many new documents."""
        return [self._new() for _ in range(count)]

    def changes(self) -> Sequence[Change]:
        """A few changes, each of another document."""
        found: list[Change] = []
        for path in self._rng.sample(self._paths, self._rng.choice((1, 1, 2, 5, 20))):
            match self._rng.randrange(6):
                case 0:
                    self._paths.remove(path)
                    found.append(Delete(path))
                case 1:
                    self._paths.remove(path)
                    found.append(Rename(path, self._path()))
                case 2:
                    found.append(self._new())
                case _:
                    found.append(Write(path, self._text()))
        return found

    def questions(self) -> Sequence[SearchRequest]:
        """Questions of every kind."""
        rng = self._rng
        words = [*rng.sample(PLAIN, 6), *rng.sample(COINED, 4)]
        return [
            self._about(" ".join(rng.sample(words, 4))),
            self._about(f"what did the {words[0]} say about the {words[1]} and the {words[2]}?"),
            self._about(f"{words[6][:4]}* {words[3]}"),
            self._about(f'"{words[4]} {words[5]}" OR {words[7]}'),
            self._about(f"{words[0]}x{words[8]}q"),
            self._about(words[9], filters=Filters(tags=frozenset({rng.choice(TAGS)}))),
            self._about(words[1], filters=Filters(path_prefix=rng.choice(FOLDERS))),
            self._about(f"{words[2]} {words[9]}", mode="semantic"),
            self._about(f"{words[2]} {words[9]}", mode="bm25", limit=50),
        ]

    def _about(self, query: str, **more: object) -> SearchRequest:
        return SearchRequest(query=query, question_date=TODAY, **more)  # pyright: ignore[reportArgumentType] - as given

    def _new(self) -> Write:
        return Write(self._path(), self._text())

    def _path(self) -> str:
        self._number += 1
        self._paths.append(f"{self._rng.choice(FOLDERS)}/{self._rng.choice(PLAIN)}-{self._number}.md")
        return self._paths[-1]

    def _text(self) -> bytes:
        rng = self._rng
        day = f"20{rng.randrange(10, 25)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 28):02}"
        head = f"---\ndate: {day}\ntags: [{rng.choice(TAGS)}, {rng.choice(TAGS)}]\n---\n# {self._words(3)}\n\n"
        sections = [f"## {self._words(2)}\n\n{self._words(rng.randrange(35, 70))}.\n\n" for _ in range(3)]
        return (head + "".join(sections)).encode()

    def _words(self, count: int) -> str:
        return " ".join(self._rng.choice(PLAIN if self._rng.random() < 0.6 else COINED) for _ in range(count))
