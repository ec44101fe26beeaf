"""Elementary functions as LLVM IR, of scalars and of vectors.

A function has no branches, so that a vector of arguments costs little more than one: which formula
holds is selected element by element.  Where an argument is outside of what the formulas are made
for (sines of huge numbers, powers of 0) the C library is asked for that element.
Scalars and vectors of any width are computed by the same operations: an element has the same bits
wherever it stands.

Errors are at most 2 units in the last place; of float32 many functions are computed in float64,
with polynomials that are just long enough.

Coefficients are minimax, by the exchange algorithm of Remez in 50 digits; highest power first.

References: Muller, "Elementary Functions", 3rd edition (2016), chapters 3 and 11; Cody & Waite,
"Software Manual for the Elementary Functions" (1980).
"""
