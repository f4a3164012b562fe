"""The command line: one module per command group, thin shells around the parts below."""
