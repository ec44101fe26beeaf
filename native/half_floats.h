// Numbers of float16 as words of float32 and back, in loops that vectorise.
#pragma once

#include "elementary.h"

namespace morphax::half_floats {

using elementary::bits_as;
using elementary::f32;
using elementary::i32;
using elementary::u32;

// What lies between the exponents of both formats, in the bits of float32.
constexpr u32 kOfExponents = u32{112} << 23;

// The word of a number, which lies in the low bits.
MORPHAX_INLINE u32 widened(u32 half) {
  const u32 sign = (half & 0x8000) << 16, exponent = half & 0x7c00;
  const u32 normal = ((half & 0x7fff) << 13) + kOfExponents;
  const f32 subnormal = static_cast<f32>(static_cast<i32>(half & 0x3ff)) * 0x1p-24f;
  const u32 magnitude = exponent == 0        ? bits_as<u32>(subnormal)
                        : exponent == 0x7c00 ? normal + kOfExponents
                                             : normal;
  return sign | magnitude;
}

// The nearest number of float16, ties to even; above its range ∞, and all NaN of one sign are one.
MORPHAX_INLINE u32 narrowed(u32 word) {
  constexpr u32 kLeastNormal = 0x38800000, kBeyond = 0x477ff000, kInfinity = 0x7f800000;
  const u32 sign = (word >> 16) & 0x8000, magnitude = word & 0x7fffffff;
  const u32 normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - kOfExponents) >> 13;
  // The last bit of 1/2 is that of the subnormal numbers, to which the sum is rounded.
  const u32 subnormal = bits_as<u32>(bits_as<f32>(magnitude) + 0.5f) - bits_as<u32>(0.5f);
  const u32 finite = magnitude < kLeastNormal ? subnormal : normal;
  const u32 half = magnitude > kInfinity ? 0x7e00 : magnitude >= kBeyond ? 0x7c00 : finite;
  return sign | half;
}

}  // namespace morphax::half_floats
