// Exponentials and logarithms of float32 as operations of fused programs, in single precision.
#pragma once

#include <cstddef>

namespace morphax::exponentials {

// Loops as `fused_operations.h` has them.
// eˣ.
void exp(std::size_t count, const void* x, const void*, const void*, void* out);
void exp2(std::size_t count, const void* x, const void*, const void*, void* out);
// The natural logarithm.
void log(std::size_t count, const void* x, const void*, const void*, void* out);
// log(1 + x).
void log1p(std::size_t count, const void* x, const void*, const void*, void* out);
void cosh(std::size_t count, const void* x, const void*, const void*, void* out);
// 1 / (1 + e⁻ˣ).
void logistic(std::size_t count, const void* x, const void*, const void*, void* out);
// (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ).
void tanh(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::exponentials
