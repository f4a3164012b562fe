"""Families of built-in capabilities, each one short function, behind the road's `Provider` port."""
