"""What a change does to a stack, from two states of it, as plain values that a comment is written from."""
