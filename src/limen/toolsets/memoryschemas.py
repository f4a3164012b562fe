"""The JSON Schemas of what the memory tools answer; data only, and further fields are always allowed."""

from typing import Any, Final

__all__ = ["BRAIN", "BRAINS", "DOCUMENT", "INGEST", "INGEST_URL", "RECALL", "SEARCH"]

Schema = dict[str, Any]

_STRING: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_METADATA: Final[Schema] = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    "propertyNames": {"minLength": 1, "maxLength": 128},
}


def _object(properties: Schema, *optional: str) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_HIT: Final = _object(
    {
        "score": {"type": "number"},
        "path": _STRING,
        "content": _STRING,
        "chunk_id": _STRING,
        "document_id": _STRING,
        "brain_id": _STRING,
        "title": _STRING,
        "span": _object({"start": _COUNT, "end": _COUNT}),
        "highlights": {"type": "array", "items": {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2}},
        "component_scores": {"type": "object", "additionalProperties": {"type": "number"}},
        "why": _STRING,
        "trust": {"enum": ["trusted", "untrusted"]},
        "metadata": _METADATA,
    }
)

SEARCH: Final = _object(
    {
        "query": _STRING,
        "brain_id": _STRING,
        "hits": {"type": "array", "items": _HIT},
        "took_ms": {"type": "number", "minimum": 0},
    }
)

RECALL: Final[Schema] = {
    "type": "object",
    "anyOf": [_object({"chunks": {"type": "array", "items": _HIT}}), SEARCH],
}

DOCUMENT: Final = _object(
    {
        "id": _STRING,
        "brain_id": _STRING,
        "title": {"type": "string", "minLength": 1, "maxLength": 512},
        "path": {"type": "string", "minLength": 1, "maxLength": 1024},
        "source": {"enum": ["ingest", "extract", "compile", "reflect"]},
        "content_type": _STRING,
        "byte_size": _COUNT,
        "checksum_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "metadata": _METADATA,
        "commit_sha": {"type": "string", "pattern": "^[0-9a-f]{7,64}$"},
        "created_at": _TIME,
        "updated_at": _TIME,
        "deleted_at": {"anyOf": [_TIME, {"type": "null"}]},
    }
)

INGEST: Final = _object(
    {
        "status": {"enum": ["completed", "queued"]},
        "document_id": _STRING,
        "path": _STRING,
        "hash": _STRING,
        "chunk_count": _COUNT,
        "embedded_count": _COUNT,
        "duration_ms": _COUNT,
        "reused": {"type": "boolean"},
        "job_id": _STRING,
    },
    "job_id",
)

INGEST_URL: Final = _object({"path": {"const": "server"}, "result": INGEST})

BRAIN: Final = _object(
    {
        "id": _STRING,
        "slug": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$", "maxLength": 64},
        "name": _STRING,
        "visibility": {"enum": ["private", "tenant", "public"]},
        "created_at": _TIME,
        "updated_at": _TIME,
    }
)

BRAINS: Final = _object({"items": {"type": "array", "items": BRAIN}})
