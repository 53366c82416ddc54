"""The model's shape and counts."""
