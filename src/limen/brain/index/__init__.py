"""Passages, their words and their vectors: derived from the documents, and rebuilt from them at any time."""
