"""Kernels that come with Pallas, each as a function that XLA compiles."""
