"""Operations that move numbers without changing them: reshape, joining, filling, slicing.

Here too are the identities that only mark a place: barriers, gradients stopped, sinks of effects.
"""
