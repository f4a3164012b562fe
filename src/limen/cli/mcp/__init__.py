"""`limen mcp`: other MCP servers from the command line, one module per kind of command."""
