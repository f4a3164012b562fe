"""Inbound MCP: sessions, the stateless revision, stdio and HTTP doors. Everything it serves goes down the road."""
