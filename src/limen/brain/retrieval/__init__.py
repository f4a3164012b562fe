"""From a question to passages, with reasons."""
