// Exponentials of float32, whose twins are NumPy's.
//
// With n the integer next to x / log 2, eˣ is 2ⁿ eʳ, and |r| is at most half of log 2.  There eʳ is
// 1 + r + r² P(r), whose polynomial was fitted by weighted least squares (Lawson's way to the least
// maximum) to 0.03 units in the last place; with the roundings the error is 1.01 of them at most
// where products are added in one step.  Results below the normal numbers are rounded once more.
//
// Reference: J.-M. Muller, Elementary Functions, 3rd ed. (2016), chapter 11.
#include "exponentials.h"

#include <cstdint>

#include "elementary.h"
#include "fused_loops.h"

namespace morphax::exponentials {

namespace {

using elementary::bits_as;
using elementary::f32;
using elementary::i32;

constexpr std::int32_t kMantissaBits = 23, kBias = 127;

MORPHAX_INLINE f32 power_of_two(i32 n) { return bits_as<f32>((n + kBias) << kMantissaBits); }

MORPHAX_INLINE f32 exponential(f32 x) {
  // Beyond them are 0 and ∞; so is NaN, which comes back in the end.
  constexpr f32 kLeast = -104, kLargest = 89;
  // The integer is in the low bits of what is shifted.  Its product with the high part of log 2 is
  // exact.
  constexpr f32 kShift = 0x1.8p23f, kPerLog2 = 1.44269504f;
  constexpr f32 kHigh = 0x1.62e4p-1f, kLow = 1.42860677e-6f;
  constexpr f32 kP[] = {1.3820661697536707e-3f, 8.368674665689468e-3f, 4.166826605796814e-2f,
                        1.666652113199234e-1f, 4.999999403953552e-1f};
  const f32 bounded = x > kLeast ? x < kLargest ? x : kLargest : kLeast;
  const f32 shifted = bounded * kPerLog2 + kShift, whole = shifted - kShift;
  const f32 r = (bounded - whole * kHigh) - whole * kLow;
  f32 value = kP[0];
  for (int i = 1; i < 5; ++i) value = value * r + kP[i];
  value = value * (r * r) + r;
  // 2ⁿ in two factors, neither of which leaves the range.
  const i32 n = bits_as<i32>(shifted) - bits_as<i32>(kShift), half = n >> 1;
  const f32 scale = power_of_two(half);
  const f32 result = (value * scale + scale) * power_of_two(n - half);
  return x != x ? x : result;
}

// By the exponential that is at most 1, so that results next to 0 have their digits.
MORPHAX_INLINE f32 sigmoid(f32 x) {
  const f32 power = exponential(-__builtin_fabsf(x));
  return (x < 0 ? power : 1) / (1 + power);
}

// 1 − 2 / (e²ˣ + 1), which is half there where the polynomial takes over.
MORPHAX_INLINE f32 hyperbolic_tangent(f32 x) {
  constexpr f32 kHalfThere = 0.55f;
  // (tanh x / x − 1) / x² in x², fitted to 0.02 units in the last place of tanh x.
  constexpr f32 kP[] = {-6.28247344866395e-3f, 2.1077757701277733e-2f, -5.385385826230049e-2f,
                        1.3332602381706238e-1f, -3.3333319425582886e-1f};
  const f32 size = __builtin_fabsf(x), power = exponential(-2 * size), square = x * x;
  f32 value = kP[0];
  for (int i = 1; i < 5; ++i) value = value * square + kP[i];
  const f32 near = size + size * (square * value), far = 1 - 2 * power / (1 + power);
  return __builtin_copysignf(size < kHalfThere ? near : far, x);
}

}  // namespace

MORPHAX_STEPS(exp, f32, exponential)
MORPHAX_STEPS(logistic, f32, sigmoid)
MORPHAX_STEPS(tanh, f32, hyperbolic_tangent)

}  // namespace morphax::exponentials
