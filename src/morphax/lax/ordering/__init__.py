"""Sorting along an axis, by several keys, and the largest elements.

`sort_lowering` writes the order of floats and complex numbers for XLA.
"""
