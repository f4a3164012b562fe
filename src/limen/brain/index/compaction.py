"""Puts one segment in the place of several neighbours, in many small transactions while others read and write.

The new segment is seen when the last transaction is done. What an interrupted one leaves behind belongs to no segment,
and `sweep` removes it.
"""

from collections.abc import Callable, Iterator, Sequence, Set

from limen.brain.arrays import I32, Bools, np
from limen.brain.index import columns, indexsql
from limen.brain.index.columns import Rows
from limen.brain.index.connections import Handle
from limen.brain.index.merging import alive, new_numbers
from limen.brain.index.pieces import OF_PASSAGES, PLACE
from limen.brain.index.segments import Segment, SegmentWriter, Stretch, list_segments, read_bits, read_block, read_rows
from limen.brain.index.state import change_state, read_state
from limen.brain.index.words import Words, cut, gather, merge
from limen.db.sqlite import Transaction

__all__ = ["due", "merge_segments", "sweep"]

_FACTOR = 8
_READ_BLOCKS = 64
_WRITTEN_POSTINGS = 150_000
"""What one transaction writes: up to a megabyte, unless one term has more."""
_SWEPT_PARTS = 100


def due(segments: Sequence[Segment], dead: Callable[[Segment], int], smallest: int) -> Sequence[Segment]:
    """Neighbouring segments that should become one: eight of a size, or one that is mostly dead; empty when none.

    `smallest` is how many passages a segment has that nobody has merged.
    """
    for segment in segments:
        if dead(segment) * 2 > segment.documents:
            return (segment,)
    tiers = [_tier(segment.passages, smallest) for segment in segments]
    for tier in sorted(set(tiers)):
        begin = 0
        for place in range(len(tiers) + 1):
            if place == len(tiers) or tiers[place] > tier:
                if place - begin >= _FACTOR:
                    return segments[begin:place]
                begin = place + 1
    return ()


def merge_segments(handle: Handle, segments: Sequence[Segment], dead: Set[int], check: Callable[[], None]) -> None:
    """Make one segment of these neighbours, without the dead; `check` may raise between transactions to end it."""
    with handle.reading as db:
        rows = [read_rows(db, segment) for segment in segments]
    documents = [alive(part, dead) for part in rows]
    passages: list[Bools] = [np.repeat(kept, part.count) for kept, part in zip(documents, rows, strict=True)]
    work = _Work(handle, segments, check)
    work.write_rows(rows, documents)
    for field in range(PLACE + 1):
        work.write_field(field, new_numbers(passages if field in OF_PASSAGES else documents))
    work.finish(work.write_bits(passages))


def sweep(handle: Handle, check: Callable[[], None]) -> None:
    """Remove what belongs to no segment, a little at a time; only for who alone merges."""
    with handle.reading as db:
        used = {segment.id for segment in list_segments(db)}
        held = {found for (found,) in db.execute(indexsql.HELD_SEGMENTS)}
    for segment_id in sorted(held - used):
        for statement in (indexsql.DROP_BITS, indexsql.DROP_BLOCKS):
            changed = True
            while changed:
                check()
                with handle.writing as db:
                    db.execute(statement, (segment_id << 24, (segment_id + 1) << 24, _SWEPT_PARTS))
                    changed = bool(db.changes())


class _Work:
    def __init__(self, handle: Handle, segments: Sequence[Segment], check: Callable[[], None]) -> None:
        self._handle = handle
        self._segments = segments
        self._check = check
        with handle.writing as db:
            segment_id = read_state(db).next_segment
            change_state(db, next_segment=segment_id + 1)
        self._writer = SegmentWriter(handle.db, segment_id)

    def write_rows(self, rows: Sequence[Rows], kept: Sequence[Bools]) -> None:
        for part, documents in zip(rows, kept, strict=True):
            chosen = columns.choose(part, documents)
            for begin, end in columns.chunks(chosen):
                with self._step():
                    self._writer.add_rows(columns.part(chosen, begin, end))

    def write_field(self, field: int, numbers: Sequence[I32]) -> None:
        self._writer.begin_field()
        streams = [_Stream(self._handle, segment.fields[field]) for segment in self._segments]
        while (last := _common_end(streams)) is not None:
            merged = merge([(stream.take(last), new) for stream, new in zip(streams, numbers, strict=True)])
            for blocks in _portions(cut(merged)):
                with self._step():
                    for block in blocks:
                        self._writer.add_block(block)

    def write_bits(self, kept: Sequence[Bools]) -> int:
        epochs = {segment.epoch for segment in self._segments}
        if len(epochs) != 1 or 0 in epochs:
            return 0
        for segment, passages in zip(self._segments, kept, strict=True):
            with self._handle.reading as db:
                bits = read_bits(db, segment)
            if bits is not None and passages.any():
                for part in columns.slices(bits[passages]):
                    with self._step():
                        self._writer.add_bits(part)
        return epochs.pop()

    def finish(self, epoch: int) -> None:
        with self._step() as db:
            for segment in self._segments:
                db.execute(indexsql.DROP_SEGMENT, (segment.id,))
            self._writer.finish(epoch)
            state = read_state(db)
            gone = len(self._segments) - (not self._writer.is_empty)
            change_state(db, generation=state.generation + 1, segments=state.segments - gone)

    def _step(self) -> Transaction:
        self._check()
        return self._handle.writing


class _Stream:
    """The words of one segment's field, read a few blocks at a time."""

    def __init__(self, handle: Handle, stretch: Stretch) -> None:
        self._handle = handle
        self._blocks = range(stretch.first, stretch.first + len(stretch.terms))
        self._held = gather(())

    def end(self) -> str | None:
        """The last term at hand; None when it has given all."""
        if not self._held.terms and self._blocks:
            self._read()
        return self._held.terms[-1] if self._held.terms else None

    @property
    def is_read(self) -> bool:
        """Whether nothing comes after what is at hand."""
        return not self._blocks

    def take(self, last: str) -> Words:
        """All up to this term."""
        count = self._held.upto(last)
        taken, self._held = self._held.part(0, count), self._held.part(count, len(self._held.terms))
        return taken

    def _read(self) -> None:
        coming, self._blocks = self._blocks[:_READ_BLOCKS], self._blocks[_READ_BLOCKS:]
        with self._handle.reading as db:
            blocks = [read_block(db, block) for block in coming]
        self._held = Words(
            [term for block in blocks for term in block.terms],
            np.concatenate([block.sizes for block in blocks]),
            np.concatenate([block.rows for block in blocks]),
            np.concatenate([block.counts for block in blocks]),
        )


def _common_end(streams: Sequence[_Stream]) -> str | None:
    """The term up to which every stream is at hand; None when all have given all."""
    ends = [(end, stream.is_read) for stream in streams if (end := stream.end()) is not None]
    if not ends:
        return None
    return min((end for end, is_read in ends if not is_read), default=max(end for end, _ in ends))


def _portions(blocks: Iterator[Words]) -> Iterator[Sequence[Words]]:
    """So much at a time that writing it holds nobody up."""
    held: list[Words] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += len(block.rows)
        if size >= _WRITTEN_POSTINGS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _tier(passages: int, smallest: int) -> int:
    tier = 0
    while passages >= max(smallest, 1) * _FACTOR:
        passages //= _FACTOR
        tier += 1
    return tier
