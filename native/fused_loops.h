// How loops of fused programs are written, and what several of them compute.
#pragma once

#include <cstddef>

#include "elementary.h"
#include "kernels.h"

namespace morphax::fused {

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_UNARY(NAME, T, R, RESULT)                                            \
  MORPHAX_VECTORIZED_INTEGERS                                                        \
  void NAME(std::size_t count, const void* a, const void*, const void*, void* out) { \
    const auto* xs = static_cast<const T*>(a);                                       \
    auto* results = static_cast<R*>(out);                                            \
    for (std::size_t i = 0; i < count; ++i) {                                        \
      const T x = xs[i];                                                             \
      results[i] = RESULT;                                                           \
    }                                                                                \
  }
// Functions of numbers of type N that take many steps, in the precision of T.
#define MORPHAX_STEPS_OF(NAME, N, T, FUNCTION)                                       \
  MORPHAX_VECTORIZED_WIDE                                                            \
  void NAME(std::size_t count, const void* a, const void*, const void*, void* out) { \
    const auto* xs = static_cast<const N*>(a);                                       \
    auto* results = static_cast<N*>(out);                                            \
    for (std::size_t i = 0; i < count; ++i) {                                        \
      results[i] = static_cast<N>(FUNCTION(static_cast<T>(xs[i])));                  \
    }                                                                                \
  }
#define MORPHAX_STEPS(NAME, T, FUNCTION) MORPHAX_STEPS_OF(NAME, float, T, FUNCTION)
#define MORPHAX_WIDE_STEPS(NAME, FUNCTION) MORPHAX_STEPS_OF(NAME, double, double, FUNCTION)
#define MORPHAX_BINARY(NAME, T, R, RESULT)                                             \
  MORPHAX_VECTORIZED_INTEGERS                                                          \
  void NAME(std::size_t count, const void* a, const void* b, const void*, void* out) { \
    const auto* xs = static_cast<const T*>(a);                                         \
    const auto* ys = static_cast<const T*>(b);                                         \
    auto* results = static_cast<R*>(out);                                              \
    for (std::size_t i = 0; i < count; ++i) {                                          \
      const T x = xs[i], y = ys[i];                                                    \
      results[i] = RESULT;                                                             \
    }                                                                                  \
  }

#define MORPHAX_TERNARY(NAME, T, R, RESULT)                                              \
  MORPHAX_VECTORIZED_INTEGERS                                                            \
  void NAME(std::size_t count, const void* a, const void* b, const void* c, void* out) { \
    const auto *xs = static_cast<const T*>(a), *ys = static_cast<const T*>(b);           \
    const auto* zs = static_cast<const T*>(c);                                           \
    auto* results = static_cast<R*>(out);                                                \
    for (std::size_t i = 0; i < count; ++i) {                                            \
      const T x = xs[i], y = ys[i], z = zs[i];                                           \
      results[i] = RESULT;                                                               \
    }                                                                                    \
  }

// NaN if either is; of 0 and -0, 0 is the larger one.
template <typename T>
MORPHAX_INLINE T larger(T x, T y) {
  return x > y ? x : x < y ? y : x == y && x != 0 ? x : x + y;
}
// The same of -x and -y, but for NaN, which keeps its sign.
template <typename T>
MORPHAX_INLINE T smaller(T x, T y) {
  const T of_equals = x != 0 ? x : -(-x - y);
  return x < y ? x : x > y ? y : x == y ? of_equals : x + y;
}

template <typename T>
MORPHAX_INLINE T larger_integer(T x, T y) {
  return x > y ? x : y;
}
template <typename T>
MORPHAX_INLINE T smaller_integer(T x, T y) {
  return x < y ? x : y;
}

}  // namespace morphax::fused
