"""The documents of a brain: files that anyone may edit, and the journal that accepts every change of them."""
