"""Operations that carry programs or functions of the user.

Each is one primitive whose parameters hold jaxprs; its rules transform those jaxprs and bind the
primitive again.  Start with `jit`, the simplest.

===============  ===================================================================================
`jit`            programs compiled as a whole, their stages, their caches
`bodies`         what feeds the programs of an operation, and the rules that follow from it
`loops`          `scan`, `while_loop`, `fori_loop`, `map`
`branches`       `cond`, `switch`
`custom`         custom derivatives, custom batching, implicit functions
`checkpoint`     rematerialisation
`callbacks`      calls back into Python, printing, breakpoints
`checks`         `checkify`
===============  ===================================================================================

What they share lies here: operations that hold one program (`program_call`), how programs are found
again that were traced before (`remembered`), how they close over tracers (`closing`), eager
execution (`calls`), arguments chosen by position or name (`chosen_arguments`).  The packages import
one another without cycles: all but `callbacks` build on `bodies`, `custom` on `jit`, and `loops` on
`branches` and `custom`.
"""
