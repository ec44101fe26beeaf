// Exponentials of float64, whose twins are NumPy's: these are the C library's, one by one, where
// processors have no vectors of 512 bits.
//
// With n the integer next to x / log 2 and r what is left, eˣ is 2ⁿ eʳ, and eʳ is 1 + r + r² P(r),
// whose polynomial was fitted by weighted least squares (Lawson's way to the least maximum) to 0.03
// units in the last place.  What the roundings of r and of sums with it lose is added to r² P(r),
// so that eˣ, 2ˣ and eˣ − 1 have an error of less than one unit; quotients and sums of them
// have 2.3 at most.  Results below the normal numbers are rounded once more.
//
// References: J.-M. Muller, Elementary Functions, 3rd ed. (2016), chapter 11; T. J. Dekker, A
// floating-point technique for extending the available precision (1971).
#include "wide_exponentials.h"

#include <cstdint>

#include "elementary.h"
#include "fused_loops.h"
#include "wide_elementary.h"

namespace morphax::wide_exponentials {

namespace {

using elementary::bits_as;
using wide::kInfinity;
using wide::kShift;
using wide::polynomial;
using u64 = std::uint64_t;

// An argument as n log 2 + r, with what r has lost.
struct Reduced {
  double shifted;  // n is in its low bits
  double r, lost;
};

MORPHAX_INLINE double whole(const Reduced& x) { return x.shifted - kShift; }

// Of |x| below 1100.  The product of n and the high part of log 2 is exact, and so is what it
// leaves of x.
MORPHAX_INLINE Reduced reduced(double x) {
  constexpr double kPerLog2 = 1.4426950408889634, kHigh = 0.693147180369123816490,
                   kLow = 1.90821492927058770002e-10;
  const double shifted = x * kPerLog2 + kShift, n = shifted - kShift;
  const double most = x - n * kHigh, rest = n * kLow, r = most - rest;
  return {shifted, r, (most - r) - rest};
}

// x log 2, whose n is the integer next to x.  The upper 25 bits of what is left of x and 26 of log
// 2 have an exact product.
MORPHAX_INLINE Reduced reduced_of_two(double x) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1, kHigh = 0x1.62e42fcp-1,
                   kLow = 0x1.7d1cf79abc9e4p-28, kUpper = 0x1.8p27;
  const double shifted = x + kShift, f = x - (shifted - kShift);
  const double upper = (f + kUpper) - kUpper, most = upper * kHigh;
  const double rest = upper * kLow + (f - upper) * kLog2, r = most + rest;
  return {shifted, r, (most - r) + rest};
}

// eʳ − 1 − r.
MORPHAX_INLINE double curve_of(double r) {
  // The even and the odd powers do not wait for each other.
  constexpr double kEven[] = {2.5109024915612974e-08, 2.755724425275795e-06, 0.0001984126988607504,
                              0.008333333333321653, 0.16666666666666677},
                   kOdd[] = {2.087534314773848e-09, 2.7557402731106636e-07, 2.480158717227897e-05,
                             0.0013888888888962583, 0.041666666666666505};
  const double square = r * r, cubic = polynomial(kEven, square) + r * polynomial(kOdd, square);
  return 0.5 * square + r * square * cubic;
}

// first + eʳ − 1 for a number `first` that is 0 or larger than r, where `lost` is added to it.
MORPHAX_INLINE double sum_with_growth(double first, double lost, const Reduced& x) {
  const double sum = first + x.r, lost_in_sum = (first - sum) + x.r, curve = curve_of(x.r);
  return sum + (lost_in_sum + (lost + (x.lost + curve)));
}

// 2ⁿ times a power of two, for normal results.
MORPHAX_INLINE double power_of_two(const Reduced& x, double scale = 1) {
  return bits_as<double>((bits_as<u64>(x.shifted) << 52) + bits_as<u64>(scale));
}

// 2ⁿ y for n of at most 2000, in two factors, neither of which leaves the range.
MORPHAX_INLINE double scaled(double y, const Reduced& x, int more = 0) {
  constexpr u64 kOffset = 2048, kBias = 1023;
  const u64 n = bits_as<u64>(x.shifted) - bits_as<u64>(kShift) + (kOffset + more), half = n >> 1;
  const auto power = [](u64 m) { return bits_as<double>((m + (kBias - kOffset / 2)) << 52); };
  return y * power(half) * power(n - half);
}

// NaN is not bounded: it comes back, and what is made of it is NaN of its sign.
MORPHAX_INLINE double between(double least, double x, double largest) {
  const double bounded = x < least ? least : x;
  return bounded > largest ? largest : bounded;
}

MORPHAX_INLINE double exponential(double x) {
  const Reduced of = reduced(between(-746, x, 710));
  return scaled(sum_with_growth(1, 0, of), of);
}

MORPHAX_INLINE double exponential_of_two(double x) {
  const Reduced of = reduced_of_two(between(-1076, x, 1025));
  return scaled(sum_with_growth(1, 0, of), of);
}

// 2ⁿ ((1 − 2⁻ⁿ) + (eʳ − 1)).
MORPHAX_INLINE double exponential_less_one(double x) {
  const Reduced of = reduced(between(-50, x, 710));
  const double inverse =
      bits_as<double>((1023 - (bits_as<u64>(of.shifted) - bits_as<u64>(kShift))) << 52);
  const double power = whole(of) > 1000 ? 0 : inverse, first = 1 - power;
  const double value = scaled(sum_with_growth(first, (1 - first) - power, of), of);
  return x != x ? x : __builtin_copysign(value, x);
}

// eˣ / 2, for half of it is in range where the hyperbolic functions are.
MORPHAX_INLINE double half_exponential(double x) {
  const Reduced of = reduced(between(-746, x, 711));
  return scaled(sum_with_growth(1, 0, of), of, -1);
}

MORPHAX_INLINE double hyperbolic_cosine(double x) {
  const double half = half_exponential(__builtin_fabs(x)), value = half + 0.25 / half;
  return x != x ? x : value;
}

MORPHAX_INLINE double hyperbolic_sine(double x) {
  // (sinh x / x − 1) / x² in x².
  constexpr double kP[] = {7.758749512886318e-13, 1.605725974291706e-10,  2.5052123137092856e-08,
                           2.755731915706923e-06, 0.00019841269841431883, 0.008333333333333148,
                           0.16666666666666669};
  const double size = __builtin_fabs(x), square = x * x;
  const double half = half_exponential(size), far = half - 0.25 / half;
  const double near = size + size * (square * polynomial(kP, square));
  return x != x ? x : __builtin_copysign(size < 1 ? near : far, x);
}

// eʳ − 1, where what its last roundings lose is of no weight.
MORPHAX_INLINE double growth_of(double r) {
  constexpr double kEven[] = {2.7631355812588467e-07, 2.480148973408092e-05, 0.0013888888947215243,
                              0.041666666666514654, 0.5000000000000013},
                   kOdd[] = {2.5117112104073173e-08, 2.7557218796208307e-06, 0.0001984126991439839,
                             0.008333333333308707, 0.16666666666666696};
  const double square = r * r;
  return r + square * (polynomial(kEven, square) + r * polynomial(kOdd, square));
}

// 1 − 2 / (e²ˣ + 1), which is half there where the polynomial takes over.
MORPHAX_INLINE double hyperbolic_tangent(double x) {
  constexpr double kHalfThere = 0.55, kOne = 20;
  constexpr u64 kSign = u64{1} << 63;
  // (tanh x / x − 1) / x² in x²; every second power by itself.
  constexpr double kEven[] = {-0.00021030207971180394, -0.0014532166787835333,
                              -0.008863194501581234, -0.05396825387606767, -0.33333333333332316},
                   kOdd[] = {5.1021271007398575e-05, 0.0005791368046112003, 0.003591719679876212,
                             0.0218694859745801, 0.13333333333168676};
  const double size = __builtin_fabs(x), square = x * x, fourth = square * square;
  // NaN is not bounded.
  const Reduced of = reduced(2 * (size > kOne ? kOne : size));
  const double power = power_of_two(of);
  const double far = 1 - 2 / (growth_of(of.r) * power + (power + 1));
  const double value = polynomial(kEven, fourth) + square * polynomial(kOdd, fourth);
  const double near = size + size * (square * value);
  const double value_of_size = size < kHalfThere ? near : far;
  // Of positive numbers the sign is a bit more.
  return bits_as<double>(bits_as<u64>(value_of_size) | (bits_as<u64>(x) & kSign));
}

// eˣ for x of at most 0.  The second factor of 2ⁿ is the same for all.
MORPHAX_INLINE double small_exponential(double x) {
  const Reduced of = reduced(x < -746 ? -746 : x);
  return sum_with_growth(1, 0, of) * power_of_two(of, 0x1p512) * 0x1p-512;
}

// By the exponential that is at most 1, so that results next to 0 have their digits.
MORPHAX_INLINE double sigmoid(double x) {
  const double exponent = -__builtin_fabs(x), power = small_exponential(exponent);
  const double value = (x < 0 ? power : 1) / (1 + power);
  // Compilers that have a difference for a sum with the negative turn the sign of NaN.
  return x != x ? exponent : value;
}

}  // namespace

MORPHAX_WIDE_STEPS(exp, exponential)
MORPHAX_WIDE_STEPS(exp2, exponential_of_two)
MORPHAX_WIDE_STEPS(expm1, exponential_less_one)
MORPHAX_WIDE_STEPS(cosh, hyperbolic_cosine)
MORPHAX_WIDE_STEPS(sinh, hyperbolic_sine)
MORPHAX_WIDE_STEPS(tanh, hyperbolic_tangent)
MORPHAX_WIDE_STEPS(logistic, sigmoid)

}  // namespace morphax::wide_exponentials
