// Functions of several operations, each as one step of a chain.
//
// A step reads and writes memory, so 25 of them take 25 times as long as what they compute.  Here
// they are in one loop, rounded as they are one by one; the twins are the programs of
// `morphax/numpy/magnitudes.py`, `predicates.py`, `floats.py` and `integer_powers.py`.
#include "compositions.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "fused_loops.h"

namespace morphax::fused {

namespace {

using elementary::f32;
using elementary::u32;
using u64 = std::uint64_t;
using f64 = double;

// Powers of two that keep squares in range (`morphax/lax/elementwise/square_ranges.py`).
template <typename T>
struct Squares;
template <>
struct Squares<f32> {
  using Bits = u32;
  static constexpr f32 kSmall = 0x1p-51f, kOfSmall = 0x1p64f, kLarge = 0x1p63f, kOfLarge = 0x1p-65f;
};
template <>
struct Squares<f64> {
  using Bits = std::uint64_t;
  static constexpr f64 kSmall = 0x1p-409, kOfSmall = 0x1p512, kLarge = 0x1p511, kOfLarge = 0x1p-513;
};

// x where `condition` is true, else y: by bits, for compilers make jumps of several choices.
template <typename T>
MORPHAX_INLINE T chosen(bool condition, T x, T y) {
  using Bits = typename Squares<T>::Bits;
  const Bits mask = Bits{0} - static_cast<Bits>(condition);
  return elementary::bits_as<T>((elementary::bits_as<Bits>(x) & mask) |
                                (elementary::bits_as<Bits>(y) & ~mask));
}

MORPHAX_INLINE f32 root(f32 x) { return __builtin_sqrtf(x); }
MORPHAX_INLINE f64 root(f64 x) { return __builtin_sqrt(x); }

// √(x² + y²) of numbers without sign: infinite if one of them is, even if the other is NaN.
template <typename T>
MORPHAX_INLINE T length(T x, T y) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool x_is_first = (x >= y) | (x == kInfinity) | ((x != x) & (y != kInfinity));
  const T larger = chosen(x_is_first, x, y);
  const bool is_infinite = larger == kInfinity, is_whole = (larger == 0) | is_infinite;
  const T smaller = chosen<T>(is_infinite, 0, chosen(x_is_first, y, x));
  const T divisor = chosen<T>(is_whole, 1, larger);
  const bool is_large = divisor > Squares<T>::kLarge, is_small = divisor < Squares<T>::kSmall;
  const auto of_sizes = [&](T of_small, T of_large) {
    return chosen(is_small, of_small, chosen<T>(is_large, of_large, 1));
  };
  const T scale = of_sizes(Squares<T>::kOfSmall, Squares<T>::kOfLarge);
  // To divide by a power of two is to multiply by another.
  const T inverse = of_sizes(1 / Squares<T>::kOfSmall, 1 / Squares<T>::kOfLarge);
  const T a = divisor * scale, b = smaller * scale;
  return chosen(is_whole, larger, root(a * a + b * b) * inverse);
}

MORPHAX_INLINE f32 size_of(f32 x) { return __builtin_fabsf(x); }
MORPHAX_INLINE f64 size_of(f64 x) { return __builtin_fabs(x); }

// Numbers whose larger side needs no scale, which nearly all do not, are looked for in blocks:
// their length is the same sum of squares, in whichever order.
template <typename T>
MORPHAX_INLINE void lengths(std::size_t count, const void* a, const void* b, void* out) {
  constexpr std::size_t kBlock = 256;
  const auto *xs = static_cast<const T*>(a), *ys = static_cast<const T*>(b);
  auto* results = static_cast<T*>(out);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = begin + kBlock < count ? begin + kBlock : count;
    typename Squares<T>::Bits others = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const T x = size_of(xs[i]), y = size_of(ys[i]);
      const bool is_plain = (x <= Squares<T>::kLarge) & (y <= Squares<T>::kLarge) &
                            ((x >= Squares<T>::kSmall) | (y >= Squares<T>::kSmall));
      others |= !is_plain;
    }
    if (others) {
      for (std::size_t i = begin; i < end; ++i) results[i] = length(size_of(xs[i]), size_of(ys[i]));
    } else {
      for (std::size_t i = begin; i < end; ++i) results[i] = root(xs[i] * xs[i] + ys[i] * ys[i]);
    }
  }
}

#define MORPHAX_LENGTHS(NAME, T)                                                       \
  MORPHAX_VECTORIZED_INTEGERS                                                          \
  void NAME(std::size_t count, const void* a, const void* b, const void*, void* out) { \
    lengths<T>(count, a, b, out);                                                      \
  }
MORPHAX_LENGTHS(hypot_f32, f32)
MORPHAX_LENGTHS(hypot_f64, f64)

// `chosen_at(i)` in blocks that hold a number x with `is_other(x)`, and the numbers of `plain` in
// all others, which nearly all are.
template <typename T, typename Test, typename Choose>
MORPHAX_INLINE void replaced(std::size_t count, const T* xs, const T* plain, T* results,
                             Test is_other, Choose chosen_at) {
  constexpr std::size_t kBlock = 256;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = begin + kBlock < count ? begin + kBlock : count;
    typename Squares<T>::Bits others = 0;
    for (std::size_t i = begin; i < end; ++i) others |= is_other(xs[i]);
    if (others) {
      for (std::size_t i = begin; i < end; ++i) results[i] = chosen_at(i);
    } else {
      for (std::size_t i = begin; i < end; ++i) results[i] = plain[i];
    }
  }
}

// y for infinity, z for -infinity.
template <typename T>
MORPHAX_INLINE void bounded(std::size_t count, const void* a, const void* b, const void* c,
                            void* out) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto *xs = static_cast<const T*>(a), *ys = static_cast<const T*>(b);
  const auto* zs = static_cast<const T*>(c);
  replaced(
      count, xs, xs, static_cast<T*>(out), [](T x) { return size_of(x) == kInfinity; },
      [=](std::size_t i) {
        return chosen(xs[i] == kInfinity, ys[i], chosen(xs[i] == -kInfinity, zs[i], xs[i]));
      });
}

// y where x is no number, z for infinity and -z for -infinity.
template <typename T>
MORPHAX_INLINE void finite(std::size_t count, const void* a, const void* b, const void* c,
                           void* out) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto *xs = static_cast<const T*>(a), *ys = static_cast<const T*>(b);
  const auto* zs = static_cast<const T*>(c);
  replaced(
      count, xs, xs, static_cast<T*>(out), [](T x) { return !(size_of(x) < kInfinity); },
      [=](std::size_t i) {
        const T x = xs[i],
                limited = chosen(x == kInfinity, zs[i], chosen(x == -kInfinity, -zs[i], x));
        return chosen(x != x, ys[i], limited);
      });
}

// y where x is no number, else z.
template <typename T>
MORPHAX_INLINE void number(std::size_t count, const void* a, const void* b, const void* c,
                           void* out) {
  const auto *xs = static_cast<const T*>(a), *ys = static_cast<const T*>(b);
  const auto* zs = static_cast<const T*>(c);
  replaced(
      count, xs, zs, static_cast<T*>(out), [](T x) { return x != x; },
      [=](std::size_t i) { return chosen(xs[i] != xs[i], ys[i], zs[i]); });
}

#define MORPHAX_REPLACED(NAME, FUNCTION)                                                 \
  MORPHAX_VECTORIZED_INTEGERS                                                            \
  void NAME(std::size_t count, const void* a, const void* b, const void* c, void* out) { \
    FUNCTION(count, a, b, c, out);                                                       \
  }
MORPHAX_REPLACED(bounded_f32, bounded<f32>)
MORPHAX_REPLACED(bounded_f64, bounded<f64>)
MORPHAX_REPLACED(finite_f32, finite<f32>)
MORPHAX_REPLACED(finite_f64, finite<f64>)
MORPHAX_REPLACED(number_f32, number<f32>)
MORPHAX_REPLACED(number_f64, number<f64>)

// Whether x is at most z away from y, which is finite, or equal to it.
template <typename T>
MORPHAX_INLINE u32 is_close(T x, T y, T z) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool is_finite = std::fabs(y) < kInfinity;
  return ((std::fabs(x - y) <= z) & is_finite) | (x == y);
}

MORPHAX_TERNARY(tolerance_f32, f32, f32, __builtin_fabsf(x) * y + z)
MORPHAX_TERNARY(tolerance_f64, f64, f64, __builtin_fabs(x) * y + z)
MORPHAX_TERNARY(close_f32, f32, u32, is_close(x, y, z))
MORPHAX_TERNARY(close_f64, f64, u32, is_close(x, y, z))

// xʸ modulo 2ʷ, where y counts as unsigned (`morphax/numpy/integer_powers.py` says why): the lowest
// log₂ w bits of y are multiplied out, and (1 + u)ᵐ, with m the others, is a series of few terms.
template <typename T>
MORPHAX_INLINE T integer_power(T x, T y) {
  constexpr unsigned kBits = 8 * sizeof(T), kLowest = kBits == 32 ? 5 : 6;
  constexpr unsigned kTerms = (kBits - 1) / (kLowest + 2);
  // Of the odd factors of 1, 2, …
  constexpr T kInverses[] = {1,
                             1,
                             T(0xaaaaaaaaaaaaaaab),
                             1,
                             T(0xcccccccccccccccd),
                             T(0xaaaaaaaaaaaaaaab),
                             T(0x6db6db6db6db6db7)};
  constexpr unsigned kTwos[] = {0, 1, 0, 2, 0, 1, 0};
  T power = 1, square = x;
  for (unsigned place = 0; place < kLowest; ++place) {
    power *= (y >> place) & 1 ? square : 1;
    square *= square;
  }
  const T u = square - 1, m = y >> kLowest;
  T total = 1;
  for (unsigned k = kTerms; k > 0; --k)
    total = 1 + (m - (k - 1)) * ((u >> kTwos[k - 1]) * kInverses[k - 1]) * total;
  return (x & 1) != 0 || m == 0 ? power * total : 0;
}
MORPHAX_BINARY(integer_power_u32, u32, u32, integer_power(x, y))
MORPHAX_BINARY(integer_power_u64, u64, u64, integer_power(x, y))

constexpr Operation kOperations[] = {
    {"integer_power_int32", 2, integer_power_u32},
    {"integer_power_uint32", 2, integer_power_u32},
    {"integer_power_int64", 2, integer_power_u64, nullptr, true},
    {"hypot_float32", 2, hypot_f32},
    {"hypot_float64", 2, hypot_f64, nullptr, true},
    {"tolerance_float32", 3, tolerance_f32},
    {"tolerance_float64", 3, tolerance_f64, nullptr, true},
    {"close_float32", 3, close_f32},
    {"close_float64", 3, close_f64, nullptr, true},
    {"bounded_float32", 3, bounded_f32},
    {"bounded_float64", 3, bounded_f64, nullptr, true},
    {"finite_float32", 3, finite_f32},
    {"finite_float64", 3, finite_f64, nullptr, true},
    {"number_float32", 3, number_f32},
    {"number_float64", 3, number_f64, nullptr, true},
};

}  // namespace

Operations compositions() { return {kOperations, std::size(kOperations)}; }

}  // namespace morphax::fused
