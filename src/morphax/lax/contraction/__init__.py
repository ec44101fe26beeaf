"""Products summed over axes: `dot` is the primitive, `matrix_products` its meaning in NumPy.

`precision` says how exactly a compiler may multiply.
"""
