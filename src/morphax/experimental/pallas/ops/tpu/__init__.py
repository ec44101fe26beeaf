"""Kernels for TPUs, each as a function that XLA compiles for any platform."""
