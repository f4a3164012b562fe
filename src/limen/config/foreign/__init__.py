"""Servers in the files of other programs, turned into entries of Limen. Starts nothing, fills in no variable."""
