"""The constants of the model and their ranges."""
