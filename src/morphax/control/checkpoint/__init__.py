"""`checkpoint`: values that the backward pass computes again instead of keeping them."""
