"""Side by side with JAX, NumPy and PyTorch: the same programs in each, as ratios (`make bench`)."""
