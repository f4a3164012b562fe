"""REST for brains and for what is remembered in them; what a tool does too is done by that tool."""

from typing import Any, Final, get_args

import msgspec

from limen.brain.records import Brain, DocumentRecord
from limen.errors import InvalidArguments
from limen.toolsets.memoryschemas import BRAIN as BRAIN_SCHEMA
from limen.toolsets.memoryschemas import BRAINS, DOCUMENT, INGEST, RECALL, SEARCH
from limen.toolsets.storeshapes import BrainArgs, CreateArgs, Format, IngestArgs, SearchArgs
from limen.web.bodies import (
    IngestFileBody,
    IngestUrlBody,
    NewBrainBody,
    RecallBody,
    RememberBody,
    SearchBody,
    UploadQuery,
)
from limen.web.multipart import Form, read_form
from limen.web.routes import OCTETS, Answer, Ask, Body, Promise, Route, Upload, json_answer

__all__ = ["BRAIN_ROUTES"]

SEARCH_BODY_BYTES: Final = 256 * 1024
RECALL_BODY_BYTES: Final = 64 * 1024
SMALL_BODY_BYTES: Final = 16 * 1024
UPLOAD_BODY_BYTES: Final = 25 * 1024 * 1024 + 64 * 1024
"""The file itself is measured by whoever takes it in; this leaves room for the form around it."""

BRAIN: Final = "/v1/brains/{brain}"
FORM: Final = "multipart/form-data"
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


class _Fetched(msgspec.Struct, frozen=True):
    """The tool says by which way it fetched; over REST there is one only."""

    result: msgspec.Raw


async def list_brains(ask: Ask) -> Answer:
    """GET brains."""
    return json_answer(await ask.road.use("memory_list_brains", {}))


async def create_brain(ask: Ask) -> Answer:
    """POST brains."""
    body: NewBrainBody = ask.body
    arguments = {"name": body.name, "slug": body.slug, "visibility": body.visibility}
    return json_answer(await ask.road.use("memory_create_brain", arguments), 201)


async def get_brain(ask: Ask) -> Answer:
    """GET one brain."""
    return json_answer(msgspec.json.encode(await ask.road.operate("brain_get", BrainArgs(brain=ask.brain), Brain)))


async def delete_brain(ask: Ask) -> Answer:
    """DELETE one brain."""
    await ask.road.operate("brain_delete", BrainArgs(brain=ask.brain), Brain)
    return Answer(204)


async def search(ask: Ask) -> Answer:
    """POST search."""
    body: SearchBody = ask.body
    # The tool takes less than REST does, so this is an operation with the same answer.
    args = SearchArgs(
        brain=ask.brain,
        query=body.query,
        top_k=body.top_k,
        mode=body.mode,
        scope=body.scope,
        sort=body.sort,
        filters=body.filters,
        question_date=body.question_date,
        explain=body.explain,
    )
    return json_answer(bytes(await ask.road.operate("brain_search", args, msgspec.Raw)))


async def recall(ask: Ask) -> Answer:
    """POST recall."""
    body: RecallBody = ask.body
    arguments = {
        "brain": ask.brain,
        "query": body.query,
        "scope": body.scope,
        "session_id": body.session_id,
        "top_k": body.top_k,
    }
    return json_answer(await ask.road.use("memory_recall", arguments))


async def remember(ask: Ask) -> Answer:
    """POST remember."""
    body: RememberBody = ask.body
    content = _content(body)
    path = _path(body)
    if ask.idempotency_key:
        # The tool has no place for a key; this operation has, and writes the same document.
        args = CreateArgs(
            brain=ask.brain,
            content=content,
            path=path,
            title=body.title,
            content_type="text/markdown",
            metadata={"tags": ",".join(body.tags)} if body.tags else None,
            replace=True,
            idempotency_key=ask.idempotency_key,
        )
        return json_answer(msgspec.json.encode(await ask.road.operate("document_create", args, DocumentRecord)), 201)
    arguments: dict[str, Any] = {
        "brain": ask.brain,
        "content": content,
        "title": body.title,
        "path": path,
        "tags": body.tags or None,
    }
    return json_answer(await ask.road.use("memory_remember", arguments), 201)


async def ingest_file(ask: Ask) -> Answer:
    """POST ingest/file: a file of this machine by its path, or the bytes of one."""
    body: IngestFileBody | Upload = ask.body
    query: UploadQuery = ask.query
    if isinstance(body, Upload):
        return json_answer(bytes(await ask.road.operate("ingest_upload", _upload(ask.brain, body, query), msgspec.Raw)))
    if query != UploadQuery():
        raise InvalidArguments("name: the query is for uploads; put `as` into the JSON body", field="name")
    arguments = {"brain": ask.brain, "path": body.path, "as": body.as_}
    return json_answer(await ask.road.use("memory_ingest_file", arguments))


async def ingest_url(ask: Ask) -> Answer:
    """POST ingest/url."""
    body: IngestUrlBody = ask.body
    told = await ask.road.use("memory_ingest_url", {"brain": ask.brain, "url": body.url})
    return json_answer(bytes(msgspec.json.decode(told, type=_Fetched).result))


def _content(body: RememberBody) -> str:
    given = body.content if body.content is not None else body.note
    if given is None or (body.content is not None and body.note is not None):
        raise InvalidArguments("content: give it, or `note`, but not both", field="content")
    return given


def _path(body: RememberBody) -> str | None:
    if body.slug is None:
        if body.scope is not None:
            raise InvalidArguments("scope: goes with a slug only; give one, or a path", field="scope")
        return body.path
    if body.path is not None:
        raise InvalidArguments("slug: give it, or a path, but not both", field="slug")
    _, _, project = (body.scope or "global").partition(":")
    return f"memory/project/{project}/{body.slug}.md" if project else f"memory/global/{body.slug}.md"


def _upload(brain: str, body: Upload, query: UploadQuery) -> IngestArgs:
    if body.media != FORM:
        if not query.name:
            raise InvalidArguments("name: tell in the query what the file is called", field="name")
        return IngestArgs(brain=brain, name=query.name, content=body.content, as_=query.as_)
    form = read_form(body.content, body.parameters)
    for field in form.fields:
        if field != "as":
            raise InvalidArguments(f"{field}: no such field in this form", field=field)
    return IngestArgs(brain=brain, name=query.name or form.name, content=form.content, as_=_format(form) or query.as_)


def _format(form: Form) -> Format | None:
    given = form.fields.get("as")
    for known in FORMATS:
        if given == known:
            return known
    if given is not None:
        raise InvalidArguments(f"as: one of {', '.join(FORMATS)}", field="as")
    return None


_INGEST_FILE: Final = Body(UPLOAD_BODY_BYTES, IngestFileBody, raw=(OCTETS, FORM, "text/*", "application/pdf"))
_INGEST_URL: Final = Body(SMALL_BODY_BYTES, IngestUrlBody)

BRAIN_ROUTES: Final = (
    Route(
        method="GET",
        path="/v1/brains",
        name="listBrains",
        summary="List the brains you may use.",
        handle=list_brains,
        promises=(Promise(200, "The brains.", BRAINS),),
    ),
    Route(
        method="POST",
        path="/v1/brains",
        name="createBrain",
        summary="Make a new, empty brain.",
        handle=create_brain,
        body=Body(SMALL_BODY_BYTES, NewBrainBody),
        promises=(Promise(201, "The new brain.", BRAIN_SCHEMA),),
        problems=(409,),
    ),
    Route(
        method="GET",
        path=BRAIN,
        name="getBrain",
        summary="Tell about one brain.",
        handle=get_brain,
        promises=(Promise(200, "The brain.", BRAIN_SCHEMA),),
    ),
    Route(
        method="DELETE",
        path=BRAIN,
        name="deleteBrain",
        summary="Put a brain away; `limen brain restore` brings it back.",
        handle=delete_brain,
        promises=(Promise(204, "It is put away."),),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/search",
        name="search",
        summary="Find passages, each with its path, exact span and the reasons it matched.",
        handle=search,
        body=Body(SEARCH_BODY_BYTES, SearchBody),
        promises=(Promise(200, "What was found, the best first.", SEARCH),),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/recall",
        name="recall",
        summary="Bring back what is remembered about something.",
        handle=recall,
        body=Body(RECALL_BODY_BYTES, RecallBody),
        promises=(Promise(200, "What was found.", RECALL),),
    ),
    Route(
        method="POST",
        path=f"{BRAIN}/remember",
        name="remember",
        summary="Keep something for later, up to 256 KiB of JSON; POST documents takes up to 5,000,000 characters.",
        handle=remember,
        body=Body(SEARCH_BODY_BYTES, RememberBody),
        is_keyed=True,
        promises=(Promise(201, "The record of the document.", DOCUMENT),),
        problems=(409,),
    ),
    *(
        Route(
            method="POST",
            path=f"{BRAIN}/{folder}ingest/file",
            name=f"ingestFile{suffix}",
            summary="Take in a file: of the hub's machine by its path, or uploaded, up to 25 MiB.",
            handle=ingest_file,
            query=UploadQuery,
            body=_INGEST_FILE,
            promises=(Promise(200, "It was taken in, or waits for its turn.", INGEST),),
        )
        for folder, suffix in (("", ""), ("documents/", "AsDocument"))
    ),
    *(
        Route(
            method="POST",
            path=f"{BRAIN}/{folder}ingest/url",
            name=f"ingestUrl{suffix}",
            summary="Fetch an address and take its readable text in, up to 5 MiB.",
            handle=ingest_url,
            body=_INGEST_URL,
            promises=(Promise(200, "It was taken in.", INGEST),),
            problems=(502,),
        )
        for folder, suffix in (("", ""), ("documents/", "AsDocument"))
    ),
)
