"""Arrays that change in place: references, their reads and writes, and who carries them out.

Start with `references`; `ref_binding` says what the two primitives under all access are.
"""
