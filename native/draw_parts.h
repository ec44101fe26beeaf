// What numbers drawn by rejection are made of, in single and in double precision.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "elementary.h"
#include "threefry.h"
#include "wide_elementary.h"

namespace morphax::draws {

using elementary::bits_as;
using elementary::f32;
using elementary::u32;
using f64 = double;
using u64 = std::uint64_t;

// A number in [0, 1) whose mantissa is an image of Threefry.
template <typename T>
MORPHAX_INLINE T unit_of(u32 high, u32 low) {
  if constexpr (sizeof(T) == 8) {
    return bits_as<f64>((u64{high} << 32 | low) >> 12 | u64{0x3ff0000000000000}) - 1;
  } else {
    return bits_as<f32>((high ^ low) >> 9 | u32{0x3f800000}) - 1;
  }
}

MORPHAX_INLINE f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
MORPHAX_INLINE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

MORPHAX_INLINE f32 logarithm(f32 x) { return elementary::logarithm(x); }

// NaN of negative numbers; subnormal ones count as 0.
MORPHAX_INLINE f64 logarithm(f64 x) {
  constexpr f64 kInfinity = std::numeric_limits<f64>::infinity();
  const f64 value = x == kInfinity ? x : wide::precise_logarithm(x);
  return x > 0 ? value : x == 0 ? -kInfinity : std::numeric_limits<f64>::quiet_NaN();
}

// log(1 - u) of a number that `unit_of` gives.
MORPHAX_INLINE f32 logarithm_of_rest(f32 u) { return elementary::log1p(-u); }
MORPHAX_INLINE f64 logarithm_of_rest(f64 u) { return wide::precise_logarithm(1 - u); }  // exact

}  // namespace morphax::draws
