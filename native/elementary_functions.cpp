// Elementary functions of float32, whose twins are NumPy's: these are the C library's, one by one,
// where processors have no vectors of 512 bits.
//
// Each is one straight line of selections in double precision, with 11 digits and more, rounded
// once: half of a unit in the last place, but for one result in ten thousand.
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
using wide::kInfinity;
using wide::kShift;
using wide::polynomial;

// What does not exist is NaN with the sign that x86 gives it, as XLA does.
constexpr double kNone = -std::numeric_limits<double>::quiet_NaN();
// Exponentials of more are ∞ in float32, even their halves; this one is finite in double precision.
constexpr double kLargest = 700;

// 2ⁿ for a whole number in the low bits of `shifted`, which `kShift` was added to.
MORPHAX_INLINE double power_of_two(double shifted) {
  return bits_as<double>((bits_as<std::uint64_t>(shifted) << 52) + bits_as<std::uint64_t>(1.0));
}

// (eʳ − 1) / r for |r| of at most half of log 2.
MORPHAX_INLINE double growth(double r) {
  constexpr double kTaylor[] = {1 / 3628800., 1 / 362880., 1 / 40320., 1 / 5040., 1 / 720.,
                                1 / 120.,     1 / 24.,     1 / 6.,     1 / 2.,    1.};
  return polynomial(kTaylor, r);
}

// log x for positive normal numbers, with x − 1 as `logarithm` has it: 2ᵉ m is x, and log m the
// series of 2 artanh s, of which the square of s is at most 0.03.
MORPHAX_INLINE double logarithm(double x, double less_one) {
  constexpr double kSeries[] = {2 / 13., 2 / 11., 2 / 9., 2 / 7., 2 / 5., 2 / 3., 2.};
  constexpr double kLog2 = 0.69314718055994530942;
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  const std::uint64_t offset = bits_as<std::uint64_t>(x) - kRootOfHalf + 0x3ff0000000000000;
  const double exponent =
      bits_as<double>((offset >> 52) | bits_as<std::uint64_t>(wide::kOfExponents)) -
      wide::kOfExponents - 1023;
  const auto m = bits_as<double>((offset & kMantissa) + kRootOfHalf);
  const double rest = exponent == 0 ? less_one : m - 1, s = rest / (rest + 2);
  return exponent * kLog2 + s * polynomial(kSeries, s * s);
}

// With the integer n next to x / log 2 this is (2ⁿ − 1) + 2ⁿ (eʳ − 1), of which nothing cancels; r
// is x where n is 0.
MORPHAX_INLINE double expm1_of(double x) {
  constexpr double kPerLog2 = 1.4426950408889634, kHigh = 0.693147180369123816490,
                   kLow = 1.90821492927058770002e-10;
  const double bounded = x < -kLargest ? -kLargest : x > kLargest ? kLargest : x;
  const double shifted = bounded * kPerLog2 + kShift, n = shifted - kShift;
  const double rest = (bounded - n * kHigh) - n * kLow;
  const double scale = power_of_two(shifted);
  const double value = (scale - 1) + scale * (rest * growth(rest));
  return x == 0 ? x : value;
}

MORPHAX_INLINE double log1p_of(double x) {
  const double value = x < kInfinity ? logarithm(1 + x, x) : x;
  return x == 0 ? x : x > -1 ? value : x == -1 ? -kInfinity : x < -1 ? kNone : x;
}

MORPHAX_INLINE double sinh_of(double x) {
  const double grown = expm1_of(std::abs(x));
  return __builtin_copysign(0.5 * (grown + grown / (grown + 1)), x);
}

MORPHAX_INLINE double asinh_of(double x) {
  const double size = std::abs(x), square = size * size;
  const double rest = size + square / (1 + __builtin_sqrt(square + 1));
  return size < kInfinity ? __builtin_copysign(log1p_of(rest), x) : x;
}

MORPHAX_INLINE double acosh_of(double x) {
  const double rest = x - 1, value = log1p_of(rest + __builtin_sqrt(rest * (x + 1)));
  return x >= 1 ? x < kInfinity ? value : x : x < 1 ? kNone : x;
}

MORPHAX_INLINE double atanh_of(double x) {
  const double size = std::abs(x), value = 0.5 * log1p_of(2 * size / (1 - size));
  const double sized = size < 1 ? value : size == 1 ? kInfinity : -kNone;
  return x != x ? x : __builtin_copysign(sized, x);
}

}  // namespace

MORPHAX_STEPS(expm1, double, expm1_of)
MORPHAX_STEPS(sinh, double, sinh_of)
MORPHAX_STEPS(asinh, double, asinh_of)
MORPHAX_STEPS(acosh, double, acosh_of)
MORPHAX_STEPS(atanh, double, atanh_of)

}  // namespace morphax::elementary_functions
