"""MCP on paper: frames, methods, versions, codes and URI templates of both revisions. Does no I/O."""
