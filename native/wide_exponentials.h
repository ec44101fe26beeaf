// Exponentials of float64, and what is made of them, as operations of fused programs.
#pragma once

#include <cstddef>

namespace morphax::wide_exponentials {

// Loops as `fused_operations.h` has them.
void exp(std::size_t count, const void* x, const void*, const void*, void* out);
void exp2(std::size_t count, const void* x, const void*, const void*, void* out);
// eˣ − 1.
void expm1(std::size_t count, const void* x, const void*, const void*, void* out);
void cosh(std::size_t count, const void* x, const void*, const void*, void* out);
void sinh(std::size_t count, const void* x, const void*, const void*, void* out);
void tanh(std::size_t count, const void* x, const void*, const void*, void* out);
// 1 / (1 + e⁻ˣ).
void logistic(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::wide_exponentials
