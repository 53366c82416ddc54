"""The review as one comment on a pull request: one module a section, and `whole` for their order."""
