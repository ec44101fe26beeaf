"""Operations that carry programs: `jit`, `cond`, `while_loop`, `scan`, custom derivative rules.

Each is one primitive whose parameters hold jaxprs; its rules transform those jaxprs and bind the
primitive again.  Start with `jit`, the simplest.
"""
