"""Generated tables about the rules: the one in README.md and docs/controls.md."""
