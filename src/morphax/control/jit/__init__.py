"""`jit`: programs that are traced, lowered and compiled as a whole, and the stages of that."""
