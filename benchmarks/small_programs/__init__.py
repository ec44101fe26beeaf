"""Programs of many small steps: in JAX's language, and by hand in C as the limit."""
