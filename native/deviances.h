// What distributions' densities are made of, as operations of fused programs: the compiled form of
// `morphax/scipy/special/_deviances.py`.
#pragma once

#include <cstddef>

namespace morphax::deviances {

// Loops as `fused_operations.h` has them, of float32 and of float64.
// log(Γ(x + 1) (e/x)ˣ).
void log_scaled_factorial(std::size_t count, const void* x, const void*, const void*, void* out);
void wide_log_scaled_factorial(std::size_t count, const void* x, const void*, const void*,
                               void* out);
// x log(x / y) − x + y, given y − x too.
void deviance(std::size_t count, const void* x, const void* y, const void* distance, void* out);
void wide_deviance(std::size_t count, const void* x, const void* y, const void* distance,
                   void* out);
// The same less log(x / y).
void density_deviance(std::size_t count, const void* x, const void* y, const void* distance,
                      void* out);
void wide_density_deviance(std::size_t count, const void* x, const void* y, const void* distance,
                           void* out);
// (a + b) x − a, in double precision.
void excess(std::size_t count, const void* a, const void* b, const void* x, void* out);
void wide_excess(std::size_t count, const void* a, const void* b, const void* x, void* out);
// n p − x, its whole part, and the rest, in double precision.
void full_distance_from_product(std::size_t count, const void* x, const void* n, const void* p,
                                void* out);
void whole_distance_from_product(std::size_t count, const void* x, const void* n, const void* p,
                                 void* out);
void broken_distance_from_product(std::size_t count, const void* x, const void* n, const void* p,
                                  void* out);
void wide_full_distance_from_product(std::size_t count, const void* x, const void* n, const void* p,
                                     void* out);
void wide_whole_distance_from_product(std::size_t count, const void* x, const void* n,
                                      const void* p, void* out);
void wide_broken_distance_from_product(std::size_t count, const void* x, const void* n,
                                       const void* p, void* out);

}  // namespace morphax::deviances
