"""The plan against a stack file."""
