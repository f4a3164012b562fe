"""What the way through Limen to another server costs, beside the way to that server itself."""
