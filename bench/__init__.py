"""Benchmarks: each compares Limen with a peer in the same run and ends with one line of JSON."""
