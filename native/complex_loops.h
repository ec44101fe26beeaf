// How loops over complex64 are written.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "elementary.h"
#include "kernels.h"
#include "wide_elementary.h"
#include "wide_waves.h"

namespace morphax::complex_functions {

using Complex = std::complex<double>;
using wide::kInfinity;
using wide::Pair;

MORPHAX_INLINE bool is_finite(double x) { return __builtin_fabs(x) < kInfinity; }
MORPHAX_INLINE bool are_finite(double x, double y) { return is_finite(x) & is_finite(y); }

inline Complex number(const float* parts) { return {parts[0], parts[1]}; }
inline void store(Complex z, float* parts) {
  parts[0] = static_cast<float>(z.real());
  parts[1] = static_cast<float>(z.imag());
}

// A function by parts where `IS_REGULAR`, elsewhere `NAME_of`, number by number.  One by one:
// compilers make several versions of plain functions only.
#define MORPHAX_OF_COMPLEX(NAME, FUNCTION, IS_REGULAR)                                  \
  namespace {                                                                           \
  MORPHAX_VECTORIZED_WIDE                                                               \
  bool NAME##_of_regular(std::size_t count, const float* zs, float* results) {          \
    std::uint64_t irregular = 0;                                                        \
    for (std::size_t i = 0; i < count; ++i) {                                           \
      const double x = zs[2 * i], y = zs[2 * i + 1];                                    \
      const Pair value = FUNCTION(x, y);                                                \
      results[2 * i] = static_cast<float>(value.first);                                 \
      results[2 * i + 1] = static_cast<float>(value.second);                            \
      irregular |= IS_REGULAR(x, y) ? 0 : 1;                                            \
    }                                                                                   \
    return irregular == 0;                                                              \
  }                                                                                     \
  }                                                                                     \
  void NAME(std::size_t count, const void* a, const void*, const void*, void* out) {    \
    const auto* zs = static_cast<const float*>(a);                                      \
    auto* results = static_cast<float*>(out);                                           \
    if (NAME##_of_regular(count, zs, results)) return;                                  \
    for (std::size_t i = 0; i < 2 * count; i += 2) {                                    \
      if (!IS_REGULAR(zs[i], zs[i + 1])) store(NAME##_of(number(zs + i)), results + i); \
    }                                                                                   \
  }

}  // namespace morphax::complex_functions
