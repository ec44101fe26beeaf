// Elementary functions of float32, whose twins are NumPy's: these are the C library's, one by one,
// where processors have no vectors of 512 bits.
//
// Each is one straight line of selections in double precision, with 12 digits and more, rounded
// once: half of a unit in the last place, but for one result in ten thousand.  Polynomials were
// fitted to the least maximum of the relative error (Remez's exchange).
//
// Reference: W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980).
#include "elementary_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "elementary.h"
#include "fused_loops.h"
#include "wide_elementary.h"

namespace morphax::elementary_functions {

namespace {

using elementary::bits_as;
using elementary::f32;
using wide::exponent_of;
using wide::kExponents;
using wide::kMantissaBits;
using wide::kOne;
using wide::kShift;
using wide::nearest_power;
using wide::polynomial;
using u64 = std::uint64_t;

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
// What does not exist is NaN with the sign that x86 gives it, as XLA does.
constexpr f32 kNone = -std::numeric_limits<f32>::quiet_NaN();
// Exponentials of more are ∞ in float32, even their halves; this one is finite in double precision.
constexpr f32 kLargest = 700;

constexpr double kLog2 = 0.69314718055994530942;

// eˣ − 1 for |x| of at most `kLargest`.
//
// With the integer n next to x / log 2 this is (2ⁿ − 1) + 2ⁿ (eʳ − 1), of which nothing cancels; r
// is x where n is 0.
MORPHAX_INLINE double growth(double x) {
  // (eʳ − 1) / r for |r| of at most half of log 2.
  constexpr double kP[] = {2.764031463371591e-06, 2.48763156091646e-05, 0.0001984117223680041,
                           0.001388882140400981,  0.008333333381113762, 0.04166666689232797,
                           0.16666666666582525,   0.4999999999979629,   1.0000000000000024};
  constexpr double kPerLog2 = 1.4426950408889634;
  const double shifted = x * kPerLog2 + kShift, r = x - (shifted - kShift) * kLog2;
  const auto scale = bits_as<double>((bits_as<u64>(shifted) << kMantissaBits) + kOne);
  return (scale - 1) + scale * (r * polynomial(kP, r));
}

// artanh s for |s| of at most 0.2.
MORPHAX_INLINE double inverse_tangent(double s) {
  constexpr double kP[] = {0.10084164411949803, 0.11065144454391068, 0.14286684184170356,
                           0.19999990787495261, 0.33333333365279333, 0.9999999999998206};
  return s * polynomial(kP, s * s);
}

MORPHAX_INLINE f32 expm1_of(f32 x) {
  const f32 above = x < -kLargest ? -kLargest : x;
  const f32 value = static_cast<f32>(growth(above > kLargest ? kLargest : above));
  return x == 0 ? x : value;
}

MORPHAX_INLINE f32 sinh_of(f32 x) {
  const f32 size = __builtin_fabsf(x);
  const double grown = growth(size > kLargest ? kLargest : size);
  return __builtin_copysignf(static_cast<f32>(0.5 * (grown + grown / (grown + 1))), x);
}

// With w = √(x² + 1) and the power of two 2ⁿ next to x + w, s = (x − sinh(n log 2)) /
// (w + cosh(n log 2)) and n log 2 + 2 artanh s: where n is 0, nothing is lost of x.
MORPHAX_INLINE f32 asinh_of(f32 x) {
  const f32 magnitude = __builtin_fabsf(x);
  const double size = magnitude, root = __builtin_sqrt(size * size + 1);
  const u64 power = nearest_power(size + root) & kExponents;
  const auto half = bits_as<double>(power - (u64{1} << kMantissaBits));
  const auto half_inverse = bits_as<double>(2 * kOne - (u64{1} << kMantissaBits) - power);
  const double s = (size + (half_inverse - half)) / (root + (half_inverse + half));
  const double value = exponent_of(power) * kLog2 + 2 * inverse_tangent(s);
  return magnitude < kInfinity ? __builtin_copysignf(static_cast<f32>(value), x) : x;
}

// The logarithm of x + √(x² − 1), which is 2ⁿ m, as that of 2ⁿ and 2 artanh((m − 1) / (m + 1)).
MORPHAX_INLINE f32 acosh_of(f32 x) {
  const double wide = x, sum = wide + __builtin_sqrt(wide * wide - 1);
  const u64 power = nearest_power(sum);
  const auto nearest = bits_as<double>(power & kExponents);
  const double s = (sum - nearest) / (sum + nearest);
  const f32 value = static_cast<f32>(exponent_of(power) * kLog2 + 2 * inverse_tangent(s));
  const f32 finite = x < kInfinity ? value : x;
  return x < 1 ? kNone : finite;
}

// Half of the logarithm of (1 + x) / (1 − x), which the powers of two next to it divide: what is
// left is that of artanh s, where s is x for the power 1.
MORPHAX_INLINE f32 atanh_of(f32 x) {
  constexpr u64 kHalf = u64{1} << (kMantissaBits - 1);
  const f32 magnitude = __builtin_fabsf(x);
  const double size = magnitude;
  // Exponents with mantissas as their fractions are nearly logarithms.
  const u64 ratio = bits_as<u64>(1 + size) - bits_as<u64>(1 - size) + (kHalf + kOne);
  const auto power = bits_as<double>(ratio & kExponents);
  const double more = 1 + power, less = 1 - power;
  const double s = (size * more + less) / (size * less + more);
  const double value = exponent_of(ratio) * (0.5 * kLog2) + inverse_tangent(s);
  const f32 beyond = magnitude == 1 ? kInfinity : -kNone;
  const f32 sized = magnitude < 1 ? static_cast<f32>(value) : beyond;
  return x != x ? x : __builtin_copysignf(sized, x);
}

}  // namespace

MORPHAX_STEPS(expm1, f32, expm1_of)
MORPHAX_STEPS(sinh, f32, sinh_of)
MORPHAX_STEPS(asinh, f32, asinh_of)
MORPHAX_STEPS(acosh, f32, acosh_of)
MORPHAX_STEPS(atanh, f32, atanh_of)

}  // namespace morphax::elementary_functions
