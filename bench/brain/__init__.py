"""What keeping documents costs, beside the least that could keep and find them."""
