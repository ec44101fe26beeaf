// Elementary functions of float32 as operations of fused programs, computed in double precision.
#pragma once

#include <cstddef>

namespace morphax::elementary_functions {

// Loops as `fused_operations.h` has them.
void expm1(std::size_t count, const void* x, const void*, const void*, void* out);
void sinh(std::size_t count, const void* x, const void*, const void*, void* out);
void asinh(std::size_t count, const void* x, const void*, const void*, void* out);
void acosh(std::size_t count, const void* x, const void*, const void*, void* out);
void atanh(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::elementary_functions
