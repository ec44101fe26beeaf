"""The engines: ways to turn a jaxpr into numbers.

`reference` computes with NumPy and defines what primitives mean; `xla` compiles.  They agree, and
the tests compare them.
"""
