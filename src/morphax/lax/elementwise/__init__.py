"""Operations that act on each element by itself: arithmetic, powers, comparison, special functions.

Start with `arithmetic`.  `convert` changes dtypes, `selection` chooses among arrays, `extremes` and
`ordered_bits` keep NaN and signed zeros where XLA would lose them.
"""
