"""The schema of `hub.db`, one numbered step after another; a step that was released is never edited."""

__all__ = ["HUB_STEPS"]

# A view and no generated columns: SQLite computes even virtual ones on every insert, a third of its cost.
_AUDIT = """
create table audit (
    seq integer primary key,
    hash blob not null,
    body text not null
);
create view audit_rows as select
    seq,
    hash,
    body,
    json_extract(body, '$.id') as id,
    json_extract(body, '$.phase') as phase,
    json_extract(body, '$.at') as at,
    json_extract(body, '$.subject') as subject,
    json_extract(body, '$.method') as method,
    json_extract(body, '$.server') as server,
    json_extract(body, '$.name') as name,
    json_extract(body, '$.status') as status
from audit;
create table audit_head (
    one integer primary key check (one = 1),
    seq integer not null,
    hash blob not null
);
insert into audit_head (one, seq, hash) values (1, 0, zeroblob(32));
create table audit_spool (
    name text primary key,
    moved integer not null
) without rowid;
"""

HUB_STEPS = (_AUDIT,)
