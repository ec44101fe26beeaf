// How loops of fused programs are written, and what several of them compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

// Numbers of which neither is NaN, and the sum of others.
template <typename T>
MORPHAX_INLINE T if_ordered(T x, T y, T value) {
  return __builtin_isunordered(x, y) ? x + y : value;
}
// NaN if either is; of 0 and -0, 0 is the larger one.  Of equal numbers a processor's maximum is
// the second one: the common bits of both orders are those of 0.
template <typename T>
MORPHAX_INLINE T larger(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T one = x > y ? x : y, other = y > x ? y : x;
  const Bits bits = elementary::bits_as<Bits>(one) & elementary::bits_as<Bits>(other);
  return if_ordered(x, y, elementary::bits_as<T>(bits));
}
// The same of -x and -y, but for NaN, which keeps its sign.
template <typename T>
MORPHAX_INLINE T smaller(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T one = x < y ? x : y, other = y < x ? y : x;
  const Bits bits = elementary::bits_as<Bits>(one) | elementary::bits_as<Bits>(other);
  return if_ordered(x, y, elementary::bits_as<T>(bits));
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
