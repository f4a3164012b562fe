"""What the hub serves over HTTP besides MCP: REST under `/v1`, and its description."""
