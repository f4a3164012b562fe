"""Git as a follower of the journal: packs, refs and the index file written so that a kill never leaves a lock."""
