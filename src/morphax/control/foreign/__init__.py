"""Operations that other languages compute.

`ffi_call` calls a handler of XLA's foreign function interface; `from_c` makes an operation of a
plain C function, a function pointer or a NumPy ufunc.  See docs/design/foreign-functions.md.
"""
