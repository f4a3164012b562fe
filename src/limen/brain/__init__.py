"""Memory: documents that cannot be lost, the index that finds them, and what is understood of them."""
