"""Limen: one local-first hub for an agent's memory and tools. Holds the version, imports nothing."""

__version__ = "0.1.0"
