"""The tables of a brain's passage index and every statement on them.

A document has a number that is never used again, and so has a passage; those of one document follow each other. What
a row keeps is sealed bytes, bound to its number. Words and columns live in immutable segments (`segment`, `block`,
`bits`), in the order of their documents' numbers; the newest documents wait in `fresh`. `dead` are documents that a
segment or `fresh` still holds and nobody may see. Vectors are in a file of their own.
"""

__all__ = [
    "ADD_BITS",
    "ADD_BLOCK",
    "ADD_DEAD",
    "ADD_DOCUMENT",
    "ADD_FRESH",
    "ADD_PASSAGE",
    "ADD_SEGMENT",
    "BITS",
    "BLOCK",
    "CHECK_PAGES",
    "CLEAR_FRESH",
    "DEAD_AFTER",
    "DOCUMENT",
    "DOCUMENT_BY_ID",
    "DOCUMENT_NUMBERS",
    "DROP_BITS",
    "DROP_BLOCKS",
    "DROP_DEAD",
    "DROP_DOCUMENT",
    "DROP_PASSAGES",
    "DROP_SEGMENT",
    "FRESH_FROM",
    "FRESH_WITHOUT",
    "HELD_SEGMENTS",
    "INDEX_STEPS",
    "MOVE_LOG",
    "PASSAGE",
    "PASSAGES_BETWEEN",
    "SEGMENTS",
    "SETTINGS",
    "SET_STATE",
    "STATE",
]

INDEX_STEPS = (
    """
    create table state (row integer primary key check (row = 1), token blob not null, data blob) strict;
    insert into state values (1, randomblob(16), null);
    create table document (number integer primary key, id text not null unique, data blob not null) strict;
    create table passage (number integer primary key, data blob not null) strict;
    create table fresh (
      document integer primary key, passages integer not null, epoch integer not null, data blob not null
    ) strict;
    create table dead (
      position integer primary key, document integer not null unique, seal integer not null
    ) strict;
    create table segment (id integer primary key, data blob not null) strict;
    create table block (id integer primary key, data blob not null) strict;
    create table bits (id integer primary key, data blob not null) strict;
    """,
    # Terms are made in another way since then, so everything is taken in anew.
    """
    delete from document;
    delete from passage;
    delete from fresh;
    delete from dead;
    delete from segment;
    delete from block;
    delete from bits;
    update state set token = randomblob(16), data = null;
    """,
)

CHECK_PAGES = "pragma integrity_check(20)"
MOVE_LOG = "pragma wal_checkpoint(truncate)"
SETTINGS = "pragma cache_size = -4096; pragma temp_store = memory"

STATE = "select token, data from state"
SET_STATE = "update state set data = ?"

ADD_DOCUMENT = "insert into document values (?, ?, ?)"
DOCUMENT = "select data from document where number = ?"
DOCUMENT_BY_ID = "select number, data from document where id = ?"
DOCUMENT_NUMBERS = "select number from document"
DROP_DOCUMENT = "delete from document where number = ?"

ADD_PASSAGE = "insert into passage values (?, ?)"
PASSAGE = "select data from passage where number = ?"
DROP_PASSAGES = "delete from passage where number >= ? and number < ?"
PASSAGES_BETWEEN = "select number, data from passage where number >= ? and number < ? order by number limit ?"

ADD_FRESH = "insert into fresh values (?, ?, ?, ?)"
FRESH_FROM = "select document, data from fresh where document >= ? order by document"
FRESH_WITHOUT = "select coalesce(sum(passages), 0) from fresh where epoch <> ?"
CLEAR_FRESH = "delete from fresh"

ADD_DEAD = "insert into dead values (?, ?, ?)"
DEAD_AFTER = "select position, document, seal from dead where position > ?"
DROP_DEAD = "delete from dead where document = ?"

ADD_SEGMENT = "insert or replace into segment values (?, ?)"
SEGMENTS = "select id, data from segment"
DROP_SEGMENT = "delete from segment where id = ?"

ADD_BLOCK = "insert into block values (?, ?)"
BLOCK = "select data from block where id = ?"
DROP_BLOCKS = "delete from block where id in (select id from block where id >= ? and id < ? limit ?)"
HELD_SEGMENTS = """
with recursive held (id) as (
  select min(id) >> 24 from block
  union all
  select (select id >> 24 from block where id >= (held.id + 1) << 24 order by id limit 1) from held
  where held.id is not null
) select id from held where id is not null
"""

ADD_BITS = "insert or replace into bits values (?, ?)"
BITS = "select id, data from bits where id >= ? and id < ? order by id"
DROP_BITS = "delete from bits where id in (select id from bits where id >= ? and id < ? limit ?)"
