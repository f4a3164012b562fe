"""Settings: what they are, where they are read from, and everything that is wrong with them."""
