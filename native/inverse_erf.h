// The inverse of the error function of float64 as an operation of fused programs.
#pragma once

#include <cstddef>

namespace morphax::inverse_erf {

// A loop as `fused_operations.h` has them.
void wide_erf_inv(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::inverse_erf
