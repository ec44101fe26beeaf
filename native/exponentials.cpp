// Exponentials and logarithms of float32, whose twins are NumPy's.
//
// With n the integer next to x / log 2, eˣ is 2ⁿ eʳ, and |r| is at most half of log 2.  There eʳ is
// 1 + r + r² P(r), whose polynomial was fitted by weighted least squares (Lawson's way to the least
// maximum) to 0.03 units in the last place; with the roundings the error is 1.01 of them at most
// where products are added in one step.  Results below the normal numbers are rounded once more.
//
// With x = 2ᵉ m and f = m − 1, log x is e log 2 + f − f² / 2 + f³ Q(f): what the sum of the first
// two loses is added to the others, so that the error is 0.9 units.
//
// Reference: J.-M. Muller, Elementary Functions, 3rd ed. (2016), chapter 11.
#include "exponentials.h"

#include <cstdint>
#include <limits>

#include "elementary.h"
#include "fused_loops.h"

namespace morphax::exponentials {

namespace {

using elementary::bits_as;
using elementary::f32;
using elementary::i32;
using elementary::u32;

constexpr std::int32_t kMantissaBits = 23, kBias = 127;
// An integer is in the low bits of what this is added to.
constexpr f32 kShift = 0x1.8p23f;
constexpr f32 kLog2 = 0.693147181f, kPerLog2 = 1.44269504f;

MORPHAX_INLINE f32 power_of_two(i32 n) { return bits_as<f32>((n + kBias) << kMantissaBits); }

// eʳ − 1 for |r| of at most half of log 2.
MORPHAX_INLINE f32 growth(f32 r) {
  constexpr f32 kP[] = {1.3820661697536707e-3f, 8.368674665689468e-3f, 4.166826605796814e-2f,
                        1.666652113199234e-1f, 4.999999403953552e-1f};
  f32 value = kP[0];
  for (int i = 1; i < 5; ++i) value = value * r + kP[i];
  return value * (r * r) + r;
}

// 2ⁿ eʳ 2^`more` with n in the low bits of what is shifted, and |r| at most half of log 2.
MORPHAX_INLINE f32 scaled_power(f32 shifted, f32 r, i32 more = 0) {
  const f32 value = growth(r);
  // 2ⁿ in two factors, neither of which leaves the range.
  const i32 n = bits_as<i32>(shifted) - bits_as<i32>(kShift), half = n >> 1;
  const f32 scale = power_of_two(half);
  return (value * scale + scale) * power_of_two(n - half + more);
}

// NaN is not bounded: it comes back, and what is made of it is NaN of its sign.
MORPHAX_INLINE f32 between(f32 least, f32 x, f32 largest) {
  const f32 bounded = x < least ? least : x;
  return bounded > largest ? largest : bounded;
}

// An argument as n log 2 + r.
struct Reduced {
  f32 shifted;  // n is in its low bits
  f32 r;
};

// Of numbers from −104 to 90.
MORPHAX_INLINE Reduced reduced(f32 x) {
  // The product of the integer with the high part of log 2 is exact.
  constexpr f32 kHigh = 0x1.62e4p-1f, kLow = 1.42860677e-6f;
  const f32 shifted = x * kPerLog2 + kShift, whole = shifted - kShift;
  return {shifted, (x - whole * kHigh) - whole * kLow};
}

// eˣ 2^`more` for numbers x from −104 to 90.
MORPHAX_INLINE f32 power_of_e(f32 x, i32 more = 0) {
  const Reduced of = reduced(x);
  return scaled_power(of.shifted, of.r, more);
}

// Beyond the bounds are 0 and ∞.
MORPHAX_INLINE f32 exponential(f32 x) { return power_of_e(between(-104, x, 89)); }

// Powers of whole numbers are exact.
MORPHAX_INLINE f32 exponential_of_two(f32 x) {
  const f32 bounded = between(-151, x, 129), shifted = bounded + kShift;
  return scaled_power(shifted, (bounded - (shifted - kShift)) * kLog2);
}

// By half of an exponential, which is in range where this is.
MORPHAX_INLINE f32 hyperbolic_cosine(f32 x) {
  const f32 half = power_of_e(between(0, __builtin_fabsf(x), 90), -1);
  return x != x ? x : half + 0.25f / half;
}

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
// What does not exist is NaN with the sign that x86 gives it, as XLA does.
constexpr f32 kNone = -std::numeric_limits<f32>::quiet_NaN();

// A positive normal number as 2ᵉ (1 + f), with |f| at most √2 − 1.
struct Split {
  i32 e;
  f32 f;
};

MORPHAX_INLINE Split split(f32 x) {
  constexpr u32 kRootOfHalf = 0x3f3504f3;
  const u32 bits = bits_as<u32>(x);
  const i32 e = static_cast<i32>(bits - kRootOfHalf) >> kMantissaBits;
  return {e, bits_as<f32>(bits - (static_cast<u32>(e) << kMantissaBits)) - 1};
}

// e log 2 + log(1 + f) + `more`.
MORPHAX_INLINE f32 sum_of_logarithms(i32 exponent, f32 f, f32 more) {
  constexpr f32 kQ[] = {-7.634119239604126e-2f, 1.276143814091475e-1f,   -1.3160260020483078e-1f,
                        1.4201782131478838e-1f, -1.6623351745579293e-1f, 2.0001225716698062e-1f,
                        -2.500082117757102e-1f, 3.3333331718929343e-1f};
  // The product of an exponent with the high part of log 2 is exact.
  constexpr f32 kHigh = 0x1.62e4p-1f, kLow = 1.42860677e-6f;
  const f32 e = static_cast<f32>(exponent);
  f32 value = kQ[0];
  for (int i = 1; i < 8; ++i) value = value * f + kQ[i];
  const f32 square = f * f, curve = square * (f * value) - 0.5f * square;
  const f32 most = e * kHigh, sum = most + f, lost = (most - sum) + f;
  return sum + (lost + (e * kLow + more + curve));
}

MORPHAX_INLINE f32 logarithm(f32 x) {
  const bool is_small = x < std::numeric_limits<f32>::min();
  const Split of = split(is_small ? x * 0x1p23f : x);
  const f32 result = sum_of_logarithms(of.e - (is_small ? kMantissaBits : 0), of.f, 0);
  const f32 above = x < kInfinity ? result : x, value = x == 0 ? -kInfinity : above;
  return x < 0 ? kNone : value;
}

// log(1 + x), with what the sum has lost.
MORPHAX_INLINE f32 logarithm_of_following(f32 x) {
  const f32 sum = 1 + x, lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
  const Split of = split(sum);
  const bool is_near = of.e == 0;
  const f32 result = sum_of_logarithms(of.e, is_near ? x : of.f, is_near ? 0 : lost / sum);
  const f32 above = x < kInfinity ? result : x, bounded = x == -1 ? -kInfinity : above;
  const f32 value = x < -1 ? kNone : bounded;
  return x == 0 ? x : value;
}

// eˣ for x of at most 0.  The second factor of 2ⁿ is the same for all.
MORPHAX_INLINE f32 small_exponential(f32 x) {
  const Reduced of = reduced(x < -104 ? -104 : x);
  const f32 scale =
      bits_as<f32>((bits_as<u32>(of.shifted) << kMantissaBits) + bits_as<u32>(0x1p64f));
  return (growth(of.r) * scale + scale) * 0x1p-64f;
}

// By the exponential that is at most 1, so that results next to 0 have their digits.
MORPHAX_INLINE f32 sigmoid(f32 x) {
  const f32 exponent = -__builtin_fabsf(x), power = small_exponential(exponent);
  const f32 value = (x < 0 ? power : 1) / (1 + power);
  // Compilers that have a difference for a sum with the negative turn the sign of NaN.
  return x != x ? exponent : value;
}

// 1 − 2 / (e²ˣ + 1), which is half there where the polynomial takes over.
MORPHAX_INLINE f32 hyperbolic_tangent(f32 x) {
  constexpr f32 kHalfThere = 0.55f, kOne = 10;
  constexpr u32 kSign = u32{1} << 31;
  // (tanh x / x − 1) / x² in x², fitted to 0.02 units in the last place of tanh x.
  constexpr f32 kP[] = {-6.28247344866395e-3f, 2.1077757701277733e-2f, -5.385385826230049e-2f,
                        1.3332602381706238e-1f, -3.3333319425582886e-1f};
  const f32 size = __builtin_fabsf(x), square = x * x;
  // NaN is not bounded.  What log 2 is rounded by is of no weight here.
  const f32 twice = 2 * (size > kOne ? kOne : size), shifted = twice * kPerLog2 + kShift;
  const f32 r = twice - (shifted - kShift) * kLog2;
  const f32 scale = bits_as<f32>((bits_as<u32>(shifted) << kMantissaBits) + bits_as<u32>(1.f));
  const f32 power_and_one = growth(r) * scale + (scale + 1);
  f32 value = kP[0];
  for (int i = 1; i < 5; ++i) value = value * square + kP[i];
  const f32 near = size + size * (square * value), far = 1 - 2 / power_and_one;
  const f32 value_of_size = size < kHalfThere ? near : far;
  // Of positive numbers the sign is a bit more.
  return bits_as<f32>(bits_as<u32>(value_of_size) | (bits_as<u32>(x) & kSign));
}

}  // namespace

MORPHAX_STEPS(exp, f32, exponential)
MORPHAX_STEPS(exp2, f32, exponential_of_two)
MORPHAX_STEPS(log, f32, logarithm)
MORPHAX_STEPS(log1p, f32, logarithm_of_following)
MORPHAX_STEPS(cosh, f32, hyperbolic_cosine)
MORPHAX_STEPS(logistic, f32, sigmoid)
MORPHAX_STEPS(tanh, f32, hyperbolic_tangent)

}  // namespace morphax::exponentials
