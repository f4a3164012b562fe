"""How memory looks on the wire, for its tools and for REST alike: hits, answers, failures, and their summaries."""

from collections.abc import Mapping, Sequence
from typing import Any

from limen.brain.records import Brain, IngestReport
from limen.brain.retrieval.answers import Hit, SearchAnswer
from limen.errors import LimenError

__all__ = ["answer_on_wire", "failure_on_wire", "hit_on_wire", "ingest_told", "search_told"]

TOLD_HITS = 5
TOLD_CHARS = 320


def answer_on_wire(query: str, brain: Brain, answer: SearchAnswer) -> dict[str, Any]:
    """The structured answer of a search."""
    found: dict[str, Any] = {
        "query": query,
        "brain_id": brain.id,
        "hits": [hit_on_wire(hit, brain) for hit in answer.hits],
        "took_ms": answer.took_ms,
        "mode": answer.mode,
    }
    if answer.trace is not None:
        found["trace"] = answer.trace
    return found


def hit_on_wire(hit: Hit, brain: Brain) -> dict[str, Any]:
    """One passage that was found."""
    return {
        "score": hit.score,
        "path": hit.path,
        "content": hit.content,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "brain_id": brain.id,
        "title": hit.title,
        "heading": hit.heading,
        "span": {"start": hit.start, "end": hit.end},
        "highlights": hit.highlights,
        "component_scores": hit.components,
        "why": hit.why,
        "date": hit.date,
        "scope": hit.scope,
        "tags": hit.tags,
        "trust": hit.trust,
        "metadata": hit.metadata,
    }


def search_told(query: str, hits: Sequence[Hit]) -> str:
    """The best hits in a few lines, for whoever reads only the text."""
    if not hits:
        return f"Nothing in this brain matches “{query}”."
    shown = hits[:TOLD_HITS]
    lines = [f"#{n} score={hit.score:.3f} {hit.path}\n{hit.content[:TOLD_CHARS]}" for n, hit in enumerate(shown, 1)]
    return "\n\n".join(lines)


def ingest_told(report: IngestReport) -> str:
    """What came of taking something in, in one line."""
    if report.status == "queued":
        return f"Queued as {report.job_id}; it will be at {report.path}."
    how = "was already here" if report.reused else f"has {report.chunk_count} passages"
    return f"{report.path} {how} ({report.document_id})."


def failure_on_wire(error: LimenError) -> Mapping[str, Any]:
    """A failure as a program reads it."""
    return {"code": error.code, "message": str(error), "retryable": error.retryable}
