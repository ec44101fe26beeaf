"""Operations with bodies: what feeds them is declared once, and their rules follow from it.

`wiring` says which operands feed which programs; `fixpoint` finds which components of a carry have
a property; `lifting` makes a transformation of programs into one of operations; `body_primitive` is
the base of `scan`, `while` and `cond`.  See docs/design/bodies.md.
"""
