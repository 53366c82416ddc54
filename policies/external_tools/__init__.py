"""Other people's policy checkers, which the tests run beside the packs; each lives in an environment of its own."""
