// Logarithms of float64, and what is made of them, as operations of fused programs.
#pragma once

#include <cstddef>

namespace morphax::wide_logarithms {

// Loops as `fused_operations.h` has them.
// log(1 + x).
void log1p(std::size_t count, const void* x, const void*, const void*, void* out);
void asinh(std::size_t count, const void* x, const void*, const void*, void* out);
void acosh(std::size_t count, const void* x, const void*, const void*, void* out);
void atanh(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::wide_logarithms
