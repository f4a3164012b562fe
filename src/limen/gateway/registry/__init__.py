"""Where servers are found and how they come in: the MCP registry, and bundles in a file. All of it is untrusted."""
