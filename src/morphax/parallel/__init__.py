"""Programs over named axes: collectives; meshes and shardings will stand beside them.

Start with `collective`, the contract of operations that communicate; `axis_names` and `groups` are
what they are told.  The families: `reductions` (sums and extremes), `gathering` (with its dual, the
scattered sum), `exchange` (all-to-all), `permutation` (with broadcasts), `positions`, `varying`.
"""
