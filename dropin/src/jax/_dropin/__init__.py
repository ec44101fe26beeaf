"""How the name `jax` comes to stand for morphax: the table, the finder, the check."""
