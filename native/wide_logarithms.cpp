// Logarithms of float64, whose twins are NumPy's: these are the C library's, one by one, where
// processors have no vectors of 512 bits.
//
// With 2ⁿ next to 1 + x, f = (x + (1 − 2ⁿ)) / 2ⁿ has all digits of x where n is 0, and log(1 + x)
// is n log 2 + log(1 + f): with s = f / (2 + f), log(1 + f) is 2 artanh s = f − s (f − 2 s² P(s²)).
// What the sum of the first two loses is added to the others, so that the error is 0.9 units in the
// last place.  The inverses of hyperbolic functions are such logarithms.
//
// Reference: J.-M. Muller, Elementary Functions, 3rd ed. (2016), chapter 11.
#include "wide_logarithms.h"

#include <cstdint>
#include <limits>

#include "elementary.h"
#include "fused_loops.h"
#include "wide_elementary.h"

namespace morphax::wide_logarithms {

namespace {

using elementary::bits_as;
using wide::exponent_of;
using wide::kExponents;
using wide::kInfinity;
using wide::kMantissaBits;
using wide::kOne;
using wide::nearest_power;
using wide::polynomial;
using u64 = std::uint64_t;

// What does not exist is NaN with the sign that x86 gives it, as XLA does.
constexpr double kNone = -std::numeric_limits<double>::quiet_NaN();
constexpr double kHigh = 0.693147180369123816490, kLow = 1.90821492927058770002e-10;
// To numbers above, 1 is nothing: they are divided by 2⁴, so that twice of them is in range, and
// inverses of powers of two are.
constexpr double kLarge = 0x1p60, kOfLarge = 0x1p-4, kExponentOfLarge = 4;

// (artanh s / s − 1) / s² in s², for |s| of at most 0.2, fitted to 0.02 units in the last place of
// artanh s.
MORPHAX_INLINE double series(double square) {
  constexpr double kP[] = {0.06808185880016636, 0.06604363514910769, 0.07694459594909811,
                           0.09090868147938454, 0.11111111532988391, 0.14285714283582576,
                           0.200000000000041,   0.3333333333333333};
  return polynomial(kP, square);
}

// log(1 + x) + `more` log 2, where `lost` is added to x.
MORPHAX_INLINE double logarithm_of_following(double x, double lost, double more) {
  const u64 bits = nearest_power(1 + x);
  const auto power = bits_as<double>(bits & kExponents),
             inverse = bits_as<double>(2 * kOne - (bits & kExponents));
  const double n = exponent_of(bits) + more;
  const double less = 1 - power, grown = x + less, lost_of_x = lost + ((less - grown) + x);
  const double f = grown * inverse, s = f / (2 + f), square = s * s;
  const double rest = s * (f - 2 * square * series(square));
  // 1 / (1 + f) is (1 − s) / (1 + s).
  const double late = lost_of_x * inverse * (1 - 2 * s * (1 - s));
  const double most = n * kHigh, sum = most + f, lost_in_sum = (most - sum) + f;
  return sum + (lost_in_sum + (n * kLow + late - rest));
}

MORPHAX_INLINE double log1p_of(double x) {
  const bool is_large = x > kLarge;
  const double result =
      logarithm_of_following(is_large ? x * kOfLarge : x, 0, is_large ? kExponentOfLarge : 0);
  const double finite = x < kInfinity ? result : x, bounded = x == -1 ? -kInfinity : finite;
  const double value = x < -1 ? kNone : bounded;
  return x == 0 ? x : value;
}

// x + √(x² + 1) is 1 + x + x² / (1 + √(x² + 1)).
MORPHAX_INLINE double asinh_of(double x) {
  const double size = __builtin_fabs(x);
  const bool is_large = size > kLarge;
  const double sine = is_large ? size * kOfLarge : size;
  const double root = __builtin_sqrt(sine * sine + 1), cosine = is_large ? sine : root;
  const double more = sine * (sine / (1 + cosine)), sum = sine + more, lost = more - (sum - sine);
  const double value = logarithm_of_following(sum, lost, is_large ? kExponentOfLarge : 0);
  return size < kInfinity ? __builtin_copysign(value, x) : x;
}

// x + √(x² − 1) is 1 + r + √(r² + 2 r) with r = x − 1.
MORPHAX_INLINE double acosh_of(double x) {
  const bool is_large = x > kLarge;
  const double cosine = is_large ? x * kOfLarge : x, rest = cosine - 1;
  const double root = __builtin_sqrt(rest * rest + 2 * rest), sine = is_large ? cosine : root;
  const double sum = sine + rest, lost = rest - (sum - sine);
  const double value = logarithm_of_following(sum, lost, is_large ? kExponentOfLarge : 0);
  const double finite = x < kInfinity ? value : x;
  return x < 1 ? kNone : finite;
}

// Half of the logarithm of 1 + 2 x / (1 − x), with what the difference and the quotient lose.
MORPHAX_INLINE double atanh_of(double x) {
  const double size = __builtin_fabs(x), twice = 2 * size, below = 1 - size;
  const double ratio = twice / below, lost_below = (1 - below) - size;
  const double lost = ((twice - ratio * below) - ratio * lost_below) / below;
  const double value = 0.5 * logarithm_of_following(ratio, lost, 0);
  const double sized = __builtin_copysign(size < 1 ? value : kInfinity, x);
  return size <= 1 ? sized : x != x ? x : kNone;
}

}  // namespace

MORPHAX_WIDE_STEPS(log1p, log1p_of)
MORPHAX_WIDE_STEPS(asinh, asinh_of)
MORPHAX_WIDE_STEPS(acosh, acosh_of)
MORPHAX_WIDE_STEPS(atanh, atanh_of)

}  // namespace morphax::wide_logarithms
