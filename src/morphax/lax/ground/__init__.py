"""What all families of operations stand on.

`kinds` says which dtypes an operation accepts, `operands` and `axes` check what users pass,
`families` holds the rules that elementwise primitives share, `linear_structure` the linear
operations that rules are written with, `monoids` what arrays are reduced with, and `placing`
refuses layouts that nothing honours yet.
"""
