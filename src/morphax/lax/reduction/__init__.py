"""Operations that combine the elements along axes: reductions, extremes with places, running sums.

`computed_reductions` takes any computation, which `scalar_programs` reads; the associative scan
is written with slices.
"""
