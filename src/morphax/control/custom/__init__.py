"""Functions with rules of the user: custom derivatives, custom batching, implicit functions."""
