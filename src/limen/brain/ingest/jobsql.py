"""The SQL of the job queue."""

from typing import Final

__all__ = ["ADD", "CLAIM", "FIND", "FINISH", "LIST", "NEXT", "PENDING", "REPORT", "REQUEUE", "STEPS"]

STEPS: Final = (
    """
    create table job (
        id text primary key,
        state text not null,
        request blob not null,
        content blob,
        stage text not null default 'waiting',
        done integer not null default 0,
        total integer not null default 0,
        chunk_count integer not null default 0,
        code text not null default '',
        message text not null default '',
        created_at text not null,
        updated_at text not null
    ) strict;
    create index job_by_state on job (state, id);
    """,
)

_COLUMNS: Final = "id, state, request, stage, done, total, chunk_count, code, message, created_at, updated_at"

ADD: Final = (
    "insert into job (id, state, request, content, total, created_at, updated_at) values (?, 'queued', ?, ?, ?, ?, ?)"
)
FIND: Final = f"select {_COLUMNS} from job where id = ?"
LIST: Final = f"select {_COLUMNS} from job order by id desc limit ?"
NEXT: Final = f"select content, {_COLUMNS} from job where state = 'queued' order by id limit 1"
CLAIM: Final = "update job set state = 'running', stage = 'reading', updated_at = ? where id = ?"
PENDING: Final = "select count(*) from job where state in ('queued', 'running')"
# Only whoever holds the runner's lock says this, so a job that "runs" belongs to a process that is gone.
REQUEUE: Final = "update job set state = 'queued', stage = 'waiting', done = 0 where state = 'running'"
REPORT: Final = "update job set stage = ?, done = ?, total = ?, updated_at = ? where id = ?"
# What was taken in is a document now; the copy that waited here is dropped.
FINISH: Final = (
    "update job set state = ?, stage = 'finished', done = total, chunk_count = ?, code = ?, message = ?, "
    "content = null, updated_at = ? where id = ?"
)
