"""How far git is behind a busy brain, and what following costs; beside commits made by libgit2 in the plain way."""
