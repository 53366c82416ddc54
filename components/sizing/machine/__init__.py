"""Cards, nodes and the links between them."""
