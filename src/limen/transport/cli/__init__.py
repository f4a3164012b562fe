"""Command-line programs as MCP servers: help text becomes tools, a call becomes one run of the program."""
