"""`checkpoint`: values that the backward pass recomputes instead of saving them."""
