"""Small changes to files that people and other programs wrote: one entry in, one entry out, every other byte kept."""
