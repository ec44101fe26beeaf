"""`jax.tools`: programs of morphax for other tools."""
