// Special functions of float32 as operations of fused programs, computed in double precision.
#pragma once

#include <cstddef>

namespace morphax::special_functions {

// Loops as `fused_operations.h` has them.
void bessel_i0e(std::size_t count, const void* x, const void*, const void*, void* out);
void bessel_i1e(std::size_t count, const void* x, const void*, const void*, void* out);
// 1 − erf x.
void erfc(std::size_t count, const void* x, const void*, const void*, void* out);
// xʸ.
void power(std::size_t count, const void* x, const void* y, const void*, void* out);
// log |Γ(x)|.
void lgamma(std::size_t count, const void* x, const void*, const void*, void* out);
// The derivative of log Γ.
void digamma(std::size_t count, const void* x, const void*, const void*, void* out);
// ζ(x, q) = Σₖ (q + k)⁻ˣ.
void zeta(std::size_t count, const void* x, const void* q, const void*, void* out);
// The derivative of the digamma function of this order.
void polygamma(std::size_t count, const void* order, const void* x, const void*, void* out);

}  // namespace morphax::special_functions
