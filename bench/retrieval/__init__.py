"""How well and how quickly a brain finds things, beside simpler ways to look for them."""
