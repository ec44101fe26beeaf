// log |Γ| of float64 as an operation of fused programs.
#pragma once

#include <cstddef>

namespace morphax::log_gamma {

// A loop as `fused_operations.h` has them.
void wide_lgamma(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::log_gamma
