"""`scan`, `while_loop`, `fori_loop`, `map`: primitives with a body, and their derivatives."""
