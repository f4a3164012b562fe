"""What one call costs on the wire: Limen with its audit on, beside the official SDK's server."""
