"""Every MCP server a person uses, reached as a client and offered as one."""
