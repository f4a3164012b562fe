"""Bytes to frames and back: memory, stdio, HTTP, behind one three-method `Channel`. The home of subprocesses."""
