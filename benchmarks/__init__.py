"""Side by side with JAX: the same programs in both, interleaved, as ratios (`make bench`)."""
