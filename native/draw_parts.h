// What numbers drawn by rejection are made of, in each precision.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "elementary.h"
#include "half_numbers.h"
#include "threefry.h"
#include "wide_elementary.h"

namespace morphax::draws {

using elementary::bits_as;
using elementary::f32;
using elementary::u32;
using f64 = double;
using u64 = std::uint64_t;
using half_numbers::Bfloat16;
using half_numbers::Float16;
using half_numbers::Half;
using half_numbers::Stored;

// A number in [0, 1) whose mantissa is an image of Threefry.
template <typename T>
struct Unit {
  MORPHAX_INLINE static f32 of(u32 high, u32 low) {
    return bits_as<f32>((high ^ low) >> 9 | u32{0x3f800000}) - 1;
  }
};
template <>
struct Unit<f64> {
  MORPHAX_INLINE static f64 of(u32 high, u32 low) {
    return bits_as<f64>((u64{high} << 32 | low) >> 12 | u64{0x3ff0000000000000}) - 1;
  }
};
template <typename Format>
struct Unit<Half<Format>> {
  // The low bits are drawn, and the first of them are the mantissa.
  MORPHAX_INLINE static Half<Format> of(u32 high, u32 low) {
    constexpr u32 kDrawn = (u32{1} << Format::kDrawnBits) - 1;
    const u32 mantissa = ((high ^ low) & kDrawn) >> (Format::kDrawnBits - Format::kMantissa);
    constexpr f32 kLast = 1 / static_cast<f32>(1 << Format::kMantissa);
    return Half<Format>::with_value(static_cast<f32>(mantissa) * kLast);
  }
};
template <typename T>
MORPHAX_INLINE T unit_of(u32 high, u32 low) {
  return Unit<T>::of(high, low);
}

// From 1 to the next number.
template <typename T>
constexpr double kEpsilon = std::numeric_limits<T>::epsilon();
template <typename Format>
constexpr double kEpsilon<Half<Format>> = 1.0 / (1 << Format::kMantissa);

// One of two numbers, both of which are there: whole structures would be chosen by a jump.
template <typename T>
MORPHAX_INLINE T chosen(bool is_first, T first, T second) {
  return is_first ? first : second;
}
template <typename Format>
MORPHAX_INLINE Half<Format> chosen(bool is_first, Half<Format> first, Half<Format> second) {
  return Half<Format>::with_value(chosen(is_first, first.value, second.value));
}

MORPHAX_INLINE f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
MORPHAX_INLINE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

template <typename Format>
MORPHAX_INLINE Half<Format> fused(Half<Format> a, Half<Format> b, Half<Format> c) {
  return a * b + c;  // of these no program takes both in one step
}

MORPHAX_INLINE f32 logarithm(f32 x) { return elementary::logarithm(x); }

// NaN of negative numbers; subnormal ones count as 0.
MORPHAX_INLINE f64 logarithm(f64 x) {
  constexpr f64 kInfinity = std::numeric_limits<f64>::infinity();
  const f64 value = x == kInfinity ? x : wide::precise_logarithm(x);
  return x > 0 ? value : x == 0 ? -kInfinity : std::numeric_limits<f64>::quiet_NaN();
}

template <typename Format>
MORPHAX_INLINE Half<Format> logarithm(Half<Format> x) {
  return elementary::logarithm(x.value);
}

// log(1 - u) of a number that `unit_of` gives.
MORPHAX_INLINE f32 logarithm_of_rest(f32 u) { return elementary::log1p(-u); }
MORPHAX_INLINE f64 logarithm_of_rest(f64 u) { return wide::precise_logarithm(1 - u); }  // exact
MORPHAX_INLINE Half<Bfloat16> logarithm_of_rest(Half<Bfloat16> u) {
  return elementary::log1p(-u.value);
}
MORPHAX_INLINE Half<Float16> logarithm_of_rest(Half<Float16> u) {
  // Near 0 each step is rounded, those of the rational function too.
  using elementary::kLog1pDenominator, elementary::kLog1pNumerator, elementary::kLog1pNearZero;
  const Half<Float16> x = -u, square = x * x;
  const Half<Float16> ratio = polynomial(kLog1pNumerator, x) / polynomial(kLog1pDenominator, x);
  const Half<Float16> near_zero = x + (square * Half<Float16>(-0.5f) + x * square * ratio);
  return chosen(u < Half<Float16>(kLog1pNearZero), near_zero, logarithm(x + 1));
}

}  // namespace morphax::draws
