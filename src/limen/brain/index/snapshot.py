"""What a process remembers of an index between views, and how it catches up with the database."""

from collections.abc import Sequence
from threading import Lock

from msgspec import Struct

from limen.brain.arrays import U8, np
from limen.brain.index.board import Board
from limen.brain.index.columns import DEAD
from limen.brain.index.fresh import Fresh
from limen.brain.index.pieces import PLACE
from limen.brain.index.ports import Postings
from limen.brain.index.segments import Segment, list_segments, read_bits, read_rows
from limen.brain.index.state import State, read_dead
from limen.brain.index.stored import list_fresh
from limen.db.sqlite import Connection

__all__ = ["PostingsMemory", "Snapshot", "catch_up"]

_REMEMBERED_BYTES = 32 * 2**20
_SMALLEST = 200


class PostingsMemory:
    """Postings that were read and joined, up to so many bytes; the oldest go first. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[tuple[int, str], Postings] = {}
        self._bytes = 0

    def find(self, field: int, term: str) -> Postings | None:
        """What was remembered of a term."""
        with self._lock:
            found = self._known.pop((field, term), None)
            if found is not None:
                self._known[field, term] = found
            return found

    def remember(self, field: int, term: str, found: Postings) -> None:
        """Keep it, and forget what was not used for long."""
        size = _SMALLEST + found.ids.nbytes + found.counts.nbytes
        if size > _REMEMBERED_BYTES // 2:
            return
        with self._lock:
            if (field, term) in self._known:
                return
            self._known[field, term] = found
            self._bytes += size
            while self._bytes > _REMEMBERED_BYTES:
                oldest = self._known.pop(next(iter(self._known)))
                self._bytes -= _SMALLEST + oldest.ids.nbytes + oldest.counts.nbytes


class Snapshot(Struct, frozen=True):
    """Everything of one state that is not read when it is asked for."""

    state: State
    segments: Sequence[Segment]
    memory: PostingsMemory
    board: Board
    fresh: Fresh
    sealed_passages: int
    sealed_documents: int
    passages: int
    documents: int
    flags: U8
    dead: int
    """How many passages are dead."""

    @property
    def has_all_vectors(self) -> bool:
        """Whether every segment has vectors of the model that the index is of."""
        return all(segment.epoch == self.state.epoch for segment in self.segments)


def catch_up(db: Connection, state: State, before: Snapshot | None, *, words: int) -> Snapshot:
    """The snapshot of this state, made out of the one before as far as it goes; `words` is the width of its bits."""
    if before is not None and (before.state.token, before.state.epoch) != (state.token, state.epoch):
        before = None
    if before is None or before.state.generation != state.generation:
        return _reopened(db, state, before, words)
    _read_fresh(db, before, before.state.next_document, state)
    return _marked(db, state, before, before.state.deaths)


def _reopened(db: Connection, state: State, before: Snapshot | None, words: int) -> Snapshot:
    segments = list_segments(db)
    if len(segments) != state.segments:
        raise ValueError("the segments do not add up")
    passages = sum(segment.passages for segment in segments)
    documents = sum(segment.documents for segment in segments)
    board = Board(words=words, passages=passages, documents=documents)
    same = 0
    if before is not None:
        same = _common(segments, before.segments)
        board.begin_with(
            before.board,
            passages=sum(segment.passages for segment in segments[:same]),
            documents=sum(segment.documents for segment in segments[:same]),
        )
    for segment in segments[same:]:
        board.append(read_rows(db, segment), read_bits(db, segment) if segment.epoch == state.epoch else None)
    if (board.passages, board.documents) != (passages, documents):
        raise ValueError("the segments do not add up")
    begun = Snapshot(
        state=state,
        segments=segments,
        memory=PostingsMemory(),
        board=board,
        fresh=Fresh(PLACE + 1),
        sealed_passages=passages,
        sealed_documents=documents,
        passages=passages,
        documents=documents,
        flags=board.flags[:0],
        dead=0,
    )
    _read_fresh(db, begun, 0, state)
    return _marked(db, state, begun, 0)


def _common(segments: Sequence[Segment], before: Sequence[Segment]) -> int:
    same = 0
    for one, other in zip(segments, before, strict=False):
        if (one.id, one.epoch) != (other.id, other.epoch):
            break
        same += 1
    return same


def _read_fresh(db: Connection, known: Snapshot, first: int, state: State) -> None:
    board, fresh = known.board, known.fresh
    for piece in list_fresh(db, state.epoch, first=first):
        fresh.add(
            piece,
            passage=board.passages - known.sealed_passages,
            document=board.documents - known.sealed_documents,
        )
        board.append(piece.rows, piece.bits)
    if board.passages - known.sealed_passages != state.waiting:
        raise ValueError("the fresh passages do not add up")


def _marked(db: Connection, state: State, known: Snapshot, deaths: int) -> Snapshot:
    board = known.board
    dying = read_dead(db, state, after=deaths)
    flags, dead = board.flags[: board.passages], known.dead
    if dead or dying:
        flags = flags.copy()
        flags[: len(known.flags)] = known.flags
        for place in _places_of(board, dying):
            begin = int(board.first[place])
            end = begin + int(board.count[place])
            flags[begin:end] |= DEAD
            dead += end - begin
    flags.setflags(write=False)
    return Snapshot(
        state=state,
        segments=known.segments,
        memory=known.memory,
        board=board,
        fresh=known.fresh,
        sealed_passages=known.sealed_passages,
        sealed_documents=known.sealed_documents,
        passages=board.passages,
        documents=board.documents,
        flags=flags,
        dead=dead,
    )


def _places_of(board: Board, numbers: Sequence[int]) -> Sequence[int]:
    known = board.number[: board.documents]
    wanted = np.array(numbers, dtype=np.int64)
    places = np.searchsorted(known, wanted)
    # One that a merge has just dropped may still be named dead.
    places = places[places < len(known)] if len(known) else places[:0]
    return places[np.isin(known[places], wanted)].tolist()
