"""The answers of the memory tools as their published contract describes them, for tests alone.

Written from the contract's text and not from our code, so that the two can disagree.
"""

from typing import Any

Schema = dict[str, Any]

TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}

HIT: Schema = {
    "type": "object",
    "required": ["score", "path", "content"],
    "properties": {"score": {"type": "number"}, "path": TEXT, "content": TEXT},
}

SEARCH: Schema = {
    "type": "object",
    "required": ["query", "brain_id", "hits", "took_ms"],
    "properties": {
        "query": TEXT,
        "brain_id": TEXT,
        "hits": {"type": "array", "items": HIT},
        "took_ms": {"type": "number"},
    },
}

SESSION_RECALL: Schema = {
    "type": "object",
    "required": ["chunks"],
    "properties": {"chunks": {"type": "array", "items": {"type": "object"}}},
}

DOCUMENT: Schema = {
    "type": "object",
    "required": [
        "id",
        "brain_id",
        "title",
        "path",
        "source",
        "content_type",
        "byte_size",
        "checksum_sha256",
        "metadata",
        "commit_sha",
        "created_at",
        "updated_at",
        "deleted_at",
    ],
    "properties": {
        "id": TEXT,
        "brain_id": TEXT,
        "title": {"type": "string", "minLength": 1, "maxLength": 512},
        "path": {"type": "string", "minLength": 1, "maxLength": 1024},
        "source": {"enum": ["ingest", "extract", "compile", "reflect"]},
        "content_type": TEXT,
        "byte_size": COUNT,
        "checksum_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "metadata": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        "commit_sha": {"type": "string", "pattern": "^[0-9a-f]{7,64}$"},
        "created_at": TIME,
        "updated_at": TIME,
        "deleted_at": {"anyOf": [TIME, {"type": "null"}]},
    },
}

INGEST: Schema = {
    "type": "object",
    "required": ["document_id", "path", "hash", "chunk_count", "embedded_count", "duration_ms", "reused"],
    "properties": {
        "status": {"enum": ["completed", "queued"]},
        "document_id": TEXT,
        "path": TEXT,
        "hash": TEXT,
        "chunk_count": COUNT,
        "embedded_count": COUNT,
        "duration_ms": COUNT,
        "reused": {"type": "boolean"},
        "job_id": TEXT,
    },
    "if": {"properties": {"status": {"const": "queued"}}, "required": ["status"]},
    "then": {"required": ["job_id"]},
}

INGEST_URL: Schema = {
    "oneOf": [
        {
            "type": "object",
            "required": ["path", "result"],
            "properties": {"path": {"const": "server"}, "result": INGEST},
        },
        {
            "type": "object",
            "required": ["path", "document"],
            "properties": {"path": {"const": "fallback"}, "document": DOCUMENT},
        },
    ]
}

BRAIN: Schema = {
    "type": "object",
    "required": ["id", "slug", "name", "visibility"],
    "properties": {
        "id": TEXT,
        "slug": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$", "maxLength": 64},
        "name": {"type": "string", "minLength": 1, "maxLength": 128},
        "visibility": {"enum": ["private", "tenant", "public"]},
    },
}

BRAINS: Schema = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": BRAIN}},
}
