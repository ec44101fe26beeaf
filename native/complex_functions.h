// Functions of complex64 as operations of fused programs, computed in double precision.
#pragma once

#include <cstddef>

namespace morphax::complex_functions {

// Loops as `fused_operations.h` has them; a complex number is a word of 64 bits there.
#define MORPHAX_LOOP(NAME) \
  void NAME(std::size_t count, const void* a, const void* b, const void*, void* out)
MORPHAX_LOOP(exp);
MORPHAX_LOOP(exp2);
// e^z − 1.
MORPHAX_LOOP(expm1);
MORPHAX_LOOP(log);
MORPHAX_LOOP(log2);
// log(1 + z).
MORPHAX_LOOP(log1p);
// 1 / (1 + e^−z).
MORPHAX_LOOP(logistic);
MORPHAX_LOOP(sin);
MORPHAX_LOOP(cos);
MORPHAX_LOOP(tan);
MORPHAX_LOOP(sinh);
MORPHAX_LOOP(cosh);
MORPHAX_LOOP(tanh);
MORPHAX_LOOP(sqrt);
// z / |z|.
MORPHAX_LOOP(sign);
MORPHAX_LOOP(quotient);
// z^w.
MORPHAX_LOOP(power);
// In `complex_inverses.cpp`.
MORPHAX_LOOP(asin);
MORPHAX_LOOP(acos);
MORPHAX_LOOP(atan);
MORPHAX_LOOP(asinh);
MORPHAX_LOOP(acosh);
MORPHAX_LOOP(atanh);
#undef MORPHAX_LOOP

}  // namespace morphax::complex_functions
