"""The whole run: failures, storage, money."""
