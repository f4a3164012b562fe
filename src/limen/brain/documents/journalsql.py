"""The schema of a brain's `journal.db`, one numbered step after another, and the statements that use it.

A step that was released is never edited.
"""

__all__ = [
    "ADD_COMMIT",
    "ADD_CONTENT",
    "ADD_KEY",
    "ADD_OPERATION",
    "ADVANCE",
    "BENEATH",
    "COMMITS_ABOVE",
    "COMMITS_BELOW",
    "COMMITS_LIKE",
    "COMMIT_ID_OF",
    "COMMIT_OF",
    "CONTENT",
    "CONTENTS",
    "COUNT",
    "DROP_PLACING",
    "FOLLOWED",
    "FORGET_KEYS",
    "HEAD",
    "HELD_ONCE",
    "HISTORY",
    "JOURNAL_STEPS",
    "KEEP_CONTENT",
    "KEY",
    "LAST_AT",
    "MARK_BLOB",
    "MARK_FOLLOWED",
    "OPERATIONS",
    "PLACING",
    "PLACINGS",
    "PRESENT",
    "PRESENT_AFTER",
    "PRUNE_CONTENTS",
    "PUT_DOCUMENT",
    "PUT_PLACING",
    "RECORD",
    "RESTAMP",
    "SAME_CONTENT",
    "SCHEMA",
    "STAMPS",
    "TAKE_DOCUMENT",
    "UNFOLLOWED",
    "UNSETTLED",
    "VERSION",
    "VERSIONS",
]

# `placings` is what must lie at a path (nothing, when the checksum is empty) and is not yet known to survive a power
# cut; `prior` is the stamp of what lay there, `temp` the name under which the file waits in `.limen/tmp`, `since` the
# first of the commits whose files there were never synced.
_FIRST = """
create table head (
    one integer primary key check (one = 1),
    seq integer not null,
    id text not null
);
insert into head (one, seq, id) values (1, 0, '');
create table commits (
    seq integer primary key,
    id text not null,
    parent text not null,
    at text not null,
    actor text not null,
    reason text not null,
    message text not null,
    author text not null,
    email text not null,
    git_sha text not null default ''
);
create unique index commits_id on commits (id);
create index commits_unfollowed on commits (seq) where git_sha = '';
create table operations (
    seq integer not null,
    place integer not null,
    kind text not null,
    path text not null,
    old_path text not null,
    document_id text not null,
    checksum text not null,
    byte_size integer not null,
    facts text not null,
    git_oid text not null default '',
    primary key (seq, place)
) without rowid;
create index operations_document on operations (document_id, seq);
create index operations_left on operations (old_path) where old_path <> '';
create table documents (
    id text primary key,
    path text not null,
    title text not null,
    source text not null,
    content_type text not null,
    byte_size integer not null,
    checksum text not null,
    metadata text not null,
    commit_id text not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text,
    stamp text not null
) without rowid;
create unique index documents_present on documents (path) where deleted_at is null;
create index documents_gone on documents (path) where deleted_at is not null;
create index documents_content on documents (checksum) where deleted_at is null;
create table contents (
    number integer primary key,
    checksum text not null unique,
    seq integer not null,
    kept integer not null default 0,
    content blob not null
);
create index contents_kept on contents (seq) where kept = 1;
create table placings (
    path text primary key,
    checksum text not null,
    temp text not null,
    prior text not null,
    seq integer not null,
    since integer not null
) without rowid;
create table keys (
    key text primary key,
    digest text not null,
    seq integer not null,
    at text not null
) without rowid;
"""

JOURNAL_STEPS = (_FIRST,)

SCHEMA = "select type, name, tbl_name, sql from sqlite_schema"
VERSION = "pragma user_version"

HEAD = "select seq, id from head"
ADVANCE = "update head set seq = ?, id = ? where seq = ? and id = ?"
ADD_COMMIT = """
insert into commits (seq, id, parent, at, actor, reason, message, author, email) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ADD_OPERATION = """
insert into operations (seq, place, kind, path, old_path, document_id, checksum, byte_size, facts)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Git must take it up again for the new commit, hence `kept = 0`.
ADD_CONTENT = """
insert into contents (checksum, seq, content) values (?, ?, ?)
on conflict (checksum) do update set kept = 0, seq = excluded.seq
"""
CONTENT = "select content from contents where checksum = ?"
CONTENTS = "select checksum, content from contents order by number"
KEEP_CONTENT = "update contents set kept = 1 where checksum = ?"
# Also of what was replaced before it was settled: a power cut may leave half of that.
PRUNE_CONTENTS = """
delete from contents where kept = 1 and seq < coalesce((select min(since) from placings), 1 << 62)
and checksum not in (select checksum from placings)
"""
VERSIONS = """
select content from contents where checksum in (select checksum from operations where seq >= ? and path = ?)
"""

_RECORD = """
id, path, title, source, content_type, byte_size, checksum, metadata, commit_id, created_at, updated_at, deleted_at,
stamp
"""
TAKE_DOCUMENT = "delete from documents where id = ?"
PUT_DOCUMENT = f"insert into documents ({_RECORD}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
RESTAMP = "update documents set stamp = ? where path = ? and deleted_at is null"
PRESENT = f"select {_RECORD} from documents where path = ? and deleted_at is null"
PRESENT_AFTER = f"select {_RECORD} from documents where path > ? and deleted_at is null order by path limit ?"
RECORD = f"select {_RECORD} from documents where id = ?"
SAME_CONTENT = f"select {_RECORD} from documents where checksum = ? and deleted_at is null order by path"
COUNT = "select count(*) from documents where deleted_at is null"
STAMPS = "select path, stamp from documents where deleted_at is null"
# A slash is followed by 0 in the order of bytes: this is all that lies beneath a folder.
BENEATH = """
select path, byte_size, updated_at from documents where path > ? and path < ? and deleted_at is null order by path
"""

PUT_PLACING = """
insert into placings (path, checksum, temp, prior, seq, since) values (?, ?, ?, ?, ?, ?)
on conflict (path) do update set checksum = excluded.checksum, temp = excluded.temp, prior = excluded.prior,
seq = excluded.seq
"""
PLACING = "select path, checksum, temp, prior, seq, since from placings where path = ?"
PLACINGS = "select path, checksum, temp, prior, seq, since from placings order by seq, path"
UNSETTLED = "select path, checksum, temp, prior, seq, since from placings order by path limit ?"
DROP_PLACING = "delete from placings where path = ? and seq = ? and temp = ?"

ADD_KEY = "insert into keys (key, digest, seq, at) values (?, ?, ?, ?)"
KEY = "select digest, seq from keys where key = ?"
FORGET_KEYS = "delete from keys where at < ?"

_COMMIT = "seq, id, parent, at, actor, reason, message, author, email, git_sha"
COMMITS_BELOW = f"select {_COMMIT} from commits where seq < ? order by seq desc limit ?"
COMMITS_ABOVE = f"select {_COMMIT} from commits where seq > ? order by seq limit ?"
COMMIT_OF = f"select {_COMMIT} from commits where seq = ?"
COMMIT_ID_OF = "select id from commits where seq = ?"
COMMITS_LIKE = f"select {_COMMIT} from commits where id >= ? and id < ? limit 2"
UNFOLLOWED = f"select {_COMMIT} from commits where git_sha = '' order by seq limit ?"
FOLLOWED = "select seq, git_sha from commits where git_sha <> '' order by seq desc limit 1"
MARK_FOLLOWED = "update commits set git_sha = ? where seq = ?"
MARK_BLOB = "update operations set git_oid = ? where seq = ? and checksum = ?"
OPERATIONS = """
select place, kind, path, old_path, document_id, checksum, byte_size, facts, git_oid
from operations where seq = ? order by place
"""

# Every document that ever lay at a path: it lies there, it was deleted there, or it was moved away from there.
_EVER_AT = """
select id from documents where path = ?1 and deleted_at is null
union select id from documents where path = ?1 and deleted_at is not null
union select document_id from operations where old_path = ?1 and old_path <> ''
"""
# The one that lies there brings its life under other names along; of the others counts what they did here.
HISTORY = f"""
select {_COMMIT} from commits where seq < ?2 and seq in (
    select seq from operations where document_id in ({_EVER_AT}) and (
        path = ?1 or old_path = ?1
        or document_id = (select id from documents where path = ?1 and deleted_at is null)
    )
) order by seq desc limit ?3
"""
# Within one commit, what came to lie there counts, whatever left.
LAST_AT = f"""
select kind, path, checksum, git_oid from operations
where document_id in ({_EVER_AT}) and (path = ?1 or old_path = ?1) and seq <= ?2
order by seq desc, (path = ?1 and kind <> 'deleted') desc limit 1
"""
# Whether what lay at a path ever had this content.
HELD_ONCE = f"""
select 1 from operations where document_id in ({_EVER_AT}) and checksum = ?2 limit 1
"""
