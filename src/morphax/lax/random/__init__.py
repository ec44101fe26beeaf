"""Bits from keys: the generators threefry and Philox, and keys as arrays.

Distributions are built on them in `morphax.random`.
"""
