"""morphax: composable transformations of array programs.

The public API is that of JAX: ``import morphax as jax`` works.
"""
