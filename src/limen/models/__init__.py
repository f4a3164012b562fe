"""Language models and embedders, behind small ports."""
