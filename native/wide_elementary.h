// Elementary functions in double precision for results in single precision, which vectorise.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "elementary.h"

namespace morphax::wide {

using elementary::bits_as;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <std::size_t size, std::size_t... i>
MORPHAX_INLINE double horner(const double (&coefficients)[size], double x,
                             std::index_sequence<i...>) {
  double value = coefficients[0];
  ((value = value * x + coefficients[i + 1]), ...);
  return value;
}
template <std::size_t size>
MORPHAX_INLINE double polynomial(const double (&coefficients)[size], double x) {
  return horner(coefficients, x, std::make_index_sequence<size - 1>());
}

// The integer in the low bits of a double between 2⁵² and 2⁵³, and what is to be added to find it.
constexpr double kShift = 0x1.8p52, kOfExponents = 0x1p52;

constexpr std::uint64_t kExponents = 0x7ff0000000000000, kOne = 0x3ff0000000000000;
constexpr std::uint64_t kMantissaBits = 52;

// The number of a normal power of two, its exponent: all other bits are left out.
MORPHAX_INLINE double exponent_of(std::uint64_t bits) {
  return bits_as<double>((bits >> kMantissaBits) | bits_as<std::uint64_t>(kOfExponents)) -
         (kOfExponents + 1023);
}

// The bits of a positive normal number over the root of a half: their exponent is that of the power
// of two next to it.
MORPHAX_INLINE std::uint64_t nearest_power(double x) {
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  return bits_as<std::uint64_t>(x) - kRootOfHalf + kOne;
}

// eˣ with 12 digits; 0 below the normal numbers, and ∞ above the largest one.
MORPHAX_INLINE double exponential(double x) {
  constexpr double kTaylor[] = {1 / 39916800., 1 / 3628800., 1 / 362880., 1 / 40320.,
                                1 / 5040.,     1 / 720.,     1 / 120.,    1 / 24.,
                                1 / 6.,        1 / 2.,       1.,          1.};
  constexpr double kPerLog2 = 1.4426950408889634, kHigh = 0.693147180369123816490,
                   kLow = 1.90821492927058770002e-10;
  const double bounded = x < -708 ? -708 : x > 709 ? 709 : x;
  const double shifted = bounded * kPerLog2 + kShift, n = shifted - kShift;
  const double rest = (bounded - n * kHigh) - n * kLow;
  // Halves of n, so that neither power of two leaves the range.
  const auto scale =
      bits_as<double>((bits_as<std::uint64_t>(shifted) << 52) + bits_as<std::uint64_t>(1.0));
  const double value = polynomial(kTaylor, rest) * scale;
  return x < -708 ? 0 : x > 709 ? kInfinity : value;
}

// log x with 13 digits, for positive normal numbers.  Whoever knows more digits of x − 1 gives
// them, for numbers next to 1.
MORPHAX_INLINE double logarithm(double x, double less_one) {
  constexpr double kSeries[] = {2 / 19., 2 / 17., 2 / 15., 2 / 13., 2 / 11.,
                                2 / 9.,  2 / 7.,  2 / 5.,  2 / 3.,  2.};
  constexpr double kLog2 = 0.69314718055994530942;
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  const std::uint64_t offset = bits_as<std::uint64_t>(x) - kRootOfHalf + 0x3ff0000000000000;
  const double exponent =
      bits_as<double>((offset >> 52) | bits_as<std::uint64_t>(kOfExponents)) - kOfExponents - 1023;
  const auto m = bits_as<double>((offset & kMantissa) + kRootOfHalf);
  const double rest = exponent == 0 ? less_one : m - 1, s = rest / (rest + 2);
  return exponent * kLog2 + s * polynomial(kSeries, s * s);
}
MORPHAX_INLINE double logarithm(double x) { return logarithm(x, x - 1); }

// log x with all digits but the last, for positive normal numbers.
//
// With x = 2ᵉ m, f = m − 1 and s = f / (2 + f), log m is 2 artanh s = f − s (f − s² P(s²)), where f
// is exact and what is subtracted from it small; so is e times the upper bits of log 2.
MORPHAX_INLINE double precise_logarithm(double x) {
  constexpr double kSeries[] = {2 / 21., 2 / 19., 2 / 17., 2 / 15., 2 / 13.,
                                2 / 11., 2 / 9.,  2 / 7.,  2 / 5.,  2 / 3.};
  constexpr double kHigh = 0.693147180369123816490, kLow = 1.90821492927058770002e-10;
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  const std::uint64_t offset = bits_as<std::uint64_t>(x) - kRootOfHalf + 0x3ff0000000000000;
  const double exponent =
      bits_as<double>((offset >> 52) | bits_as<std::uint64_t>(kOfExponents)) - kOfExponents - 1023;
  const double f = bits_as<double>((offset & kMantissa) + kRootOfHalf) - 1, s = f / (f + 2);
  const double rest = s * (f - s * s * polynomial(kSeries, s * s));
  return exponent * kHigh + (f - (rest - exponent * kLow));
}

}  // namespace morphax::wide
