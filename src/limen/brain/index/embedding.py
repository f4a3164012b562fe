"""Gives passages the vectors they lack: after the model has changed, or when they came without one.

Each step is small, so that nobody waits for it; a segment's sign bits are written when all its passages have vectors.
"""

from collections.abc import Callable

import msgspec

from limen.brain.arrays import I8, I64, np
from limen.brain.index import columns, indexsql
from limen.brain.index.columns import Rows
from limen.brain.index.connections import Connections, Handle
from limen.brain.index.sealing import seal
from limen.brain.index.segments import Segment, list_segments, parts_of, read_rows, write_segment
from limen.brain.index.state import State, change_state, read_state
from limen.brain.index.stored import said_in
from limen.brain.index.vectorfile import VectorFile
from limen.brain.index.vectors import quantised, sign_bits
from limen.brain.index.writing import seal_fresh
from limen.db.sqlite import Connection
from limen.models.ports import Embedder

__all__ = ["adopt_model", "embed_some", "progress"]

_AT_ONCE = 64


def adopt_model(handle: Handle, connections: Connections, embedder: Embedder) -> None:
    """From now on the index is this model's; what other models made of its passages is dropped."""
    with handle.reading as db:
        if read_state(db).model == embedder.name:
            return
    with handle.writing as db:
        state = read_state(db)
        if state.model == embedder.name:
            return
        change_state(db, model=embedder.name, epoch=state.epoch + 1, generation=state.generation + 1)
    connections.drop_vectors(state)


def embed_some(handle: Handle, connections: Connections, embedder: Embedder, check: Callable[[], None]) -> bool:
    """Complete one segment; False when there is nothing to do, or the index has become another model's.

    `check` is called between steps and may raise to end it.
    """
    with handle.reading as db:
        state = read_state(db)
        if state.model != embedder.name:
            return False
        lacking = next((segment for segment in list_segments(db) if segment.epoch != state.epoch), None)
        ((lacking_fresh,),) = db.execute(indexsql.FRESH_WITHOUT, (state.epoch,))
    vectors = connections.vectors(state, embedder.dimensions)
    if lacking is not None:
        return _Completion(handle, state, lacking, vectors).run(embedder, check)
    if lacking_fresh:
        with handle.writing as db:
            seal_fresh(db, vectors)
        return True
    return False


def progress(db: Connection, model: str) -> tuple[int, int]:
    """How many passages have vectors of this model, counted by segments, and how many there are."""
    state = read_state(db)
    segments = list_segments(db)
    total = state.waiting + sum(segment.passages for segment in segments)
    if state.model != model:
        return 0, total
    lacking = sum(segment.passages for segment in segments if segment.epoch != state.epoch)
    ((fresh,),) = db.execute(indexsql.FRESH_WITHOUT, (state.epoch,))
    return total - lacking - fresh, total


class _Completion:
    """The work on one segment that lacks vectors."""

    def __init__(self, handle: Handle, state: State, segment: Segment, vectors: VectorFile) -> None:
        self._handle = handle
        self._state = state
        self._segment = segment
        self._vectors = vectors

    def run(self, embedder: Embedder, check: Callable[[], None]) -> bool:
        with self._handle.reading as db:
            numbers = _numbers(read_rows(db, self._segment))
        rows: I8 = np.zeros((len(numbers), embedder.dimensions), dtype=np.int8)
        for begin in range(0, len(numbers), _AT_ONCE):
            check()
            wanted: list[int] = numbers[begin : begin + _AT_ONCE].tolist()
            rows[begin : begin + _AT_ONCE] = self._embedded(wanted, embedder)
        self._vectors.sync()
        return self._show(rows)

    def _embedded(self, numbers: list[int], embedder: Embedder) -> I8:
        rows, found = self._vectors.read(numbers)
        if found.all():
            return rows
        places = {number: place for place, number in enumerate(numbers)}
        with self._handle.reading as db:
            kept = db.execute(indexsql.PASSAGES_BETWEEN, (numbers[0], numbers[-1] + 1, -1))
            texts = {number: said_in(number, data) for number, data in kept if number in places}
        # One that is dead has no text any more, and needs no vector.
        lacking = [number for number in texts if not found[places[number]]]
        if lacking:
            new = quantised(embedder.embed([texts[number] for number in lacking]))
            for number, row in zip(lacking, new, strict=True):
                self._vectors.write(number, row[None, :])
                rows[places[number]] = row
        return rows

    def _show(self, rows: I8) -> bool:
        for part, bits in enumerate(columns.slices(sign_bits(rows)), start=parts_of(self._segment.id).begin):
            with self._handle.writing as db:
                db.execute(indexsql.ADD_BITS, (part, seal(part, bits.tobytes())))
        with self._handle.writing as db:
            now = read_state(db)
            if now.epoch != self._state.epoch:
                return False
            write_segment(db, msgspec.structs.replace(self._segment, epoch=now.epoch))
            change_state(db, generation=now.generation + 1)
        return True


def _numbers(rows: Rows) -> I64:
    """The number of each passage."""
    return np.repeat(rows.passage - (np.cumsum(rows.count) - rows.count), rows.count) + np.arange(len(rows.flags))
