// Special functions of float32, whose twins are SciPy's.
//
// Each is one straight line of selections in double precision, which vectorises, for the numbers
// that programs meet; what lies beyond is computed again, one by one.
//
// The Bessel functions are polynomials on [0, 8] in x/4 − 1 and on [8, ∞] in 16/x − 1, from the
// Chebyshev series of `morphax/lax/elementwise/bessel.py` and of the same kind for I₁, cut at
// 10⁻¹⁰.  The zeta function is summed as `morphax/lax/elementwise/zeta.py` tells.
//
// References: DLMF, 5.15.1, 10.40.1 and 25.11.9.
#include "special_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "elementary.h"
#include "fused_loops.h"
#include "kernels.h"
#include "wide_elementary.h"

namespace morphax::special_functions {

namespace {

using elementary::bits_as;
using wide::exponential;
using wide::kInfinity;
using wide::logarithm;
using wide::polynomial;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MORPHAX_INLINE double i0e_of(double x) {
  constexpr double kNear[] = {
      5.072910567537764e-05,   -0.00013604737781950743, 9.498288686468181e-05,
      -0.00020575934590192754, 0.0009516482082003591,   -0.0020473450797671208,
      0.003535159837184268,    -0.006604619497155476,   0.012004880892660124,
      -0.019776206071507256,   0.03016227841018122,     -0.04295691574384897,
      0.05678042010445669,     -0.06954659124941232,    0.07927479864866682,
      -0.08496283115339742,    0.08734344375826644,     -0.0890434670005429,
      0.09451562784636894,     -0.11300432653445613,    0.20700192122686667};
  constexpr double kFar[] = {1.5218108298043442e-09, 3.161985528463981e-08, 1.056358031630597e-07,
                             3.0733229173158875e-07, 1.478017997878504e-06, 1.113981565861345e-05,
                             0.00013621678379051652, 0.003360552241721043,  0.4021765094311013};
  const double size = std::abs(x);
  const double near = polynomial(kNear, size * 0.25 - 1);
  const double bounded = size < 8 ? 8 : size;
  const double far = polynomial(kFar, 16 / bounded - 1) / __builtin_sqrt(bounded);
  return size < 8 ? near : far;
}

MORPHAX_INLINE double i1e_of(double x) {
  // Of I₁(x) / x.
  constexpr double kNear[] = {
      -1.7467977158958092e-05, 4.752134555019438e-05, -4.070990826221532e-05, 9.356816212857666e-05,
      -0.0003685723722810508,  0.0008124035463197288, -0.0015170911124755548, 0.0029560038957185952,
      -0.005545398408138169,   0.009606306491621197,  -0.015567952849417921,  0.02367994375988669,
      -0.03367197859191884,    0.044675517298688794,  -0.05527997579631022,   0.06376732927337032,
      -0.06848260916207517,    0.06805760218085545,   -0.061124337989132776,  0.04468770986418784};
  constexpr double kFar[] = {
      -2.428799439346818e-09, -3.5774359696816305e-08, -1.1787457386905342e-07,
      -3.584298849390599e-07, -1.8287267307438848e-06, -1.5035268031995952e-05,
      -0.0002192365181820186, -0.009749577457556405,   0.38939845904068426};
  const double size = std::abs(x);
  const double near = polynomial(kNear, size * 0.25 - 1) * size;
  const double bounded = size < 8 ? 8 : size;
  const double far = polynomial(kFar, 16 / bounded - 1) / __builtin_sqrt(bounded);
  return std::copysign(size < 8 ? near : far, x);
}

// 1 − erf x: e^(−x²) times a polynomial of (x − 3) / (x + 3) on [0, 10.25], where it is less than
// the least float32, with 12 digits; the coefficients are as those of `elementary.h`'s error
// function.
MORPHAX_INLINE double erfc_of(double x) {
  constexpr double kEnd = 10.25;
  constexpr double kScaled[] = {
      8.354608936097608e-07, 1.361930431473923e-06, -7.870953990597986e-06, -1.2255074862782474e-05,
      6.413722943971839e-05, 4.502850608497149e-05, -0.0005971103241318343, 0.0007077916264110219,
      0.004269145793295031,  -0.024392504105072967, 0.07166583645394256,    -0.15011593626539713,
      0.2456038017313251,    -0.326233560046523,    0.17900115118132792};
  const double size = std::abs(x), bounded = size > kEnd ? kEnd : size;
  const double tail =
      exponential(-bounded * bounded) * polynomial(kScaled, (bounded - 3) / (bounded + 3));
  return x < 0 ? 2 - tail : tail;
}

// B₂ⱼ / (2j)! for j = 1, 2, …
constexpr double kCorrections[] = {1 / 12.,
                                   -1 / 720.,
                                   1 / 30240.,
                                   -1 / 1209600.,
                                   1 / 47900160.,
                                   -691 / 1307674368000.,
                                   1 / 74724249600.,
                                   -3617 / 10670622842880000.,
                                   43867 / 5109094217170944000.,
                                   -174611 / 802857662698291200000.};

// The corrections (x)₂ⱼ₋₁ a¹⁻²ʲ B₂ⱼ/(2j)! are added up by Horner's rule, the last one first.
template <std::size_t... i>
MORPHAX_INLINE double corrections(double x, double reciprocal, std::index_sequence<i...>) {
  constexpr std::size_t last = sizeof...(i) - 1;
  const double square = reciprocal * reciprocal;
  double total = 0;
  ((total = kCorrections[last - i] + total * square *
                                         (x + static_cast<double>(2 * (last - i) + 1)) *
                                         (x + static_cast<double>(2 * (last - i) + 2))),
   ...);
  return total * x * reciprocal;
}

// ζ(x, q) for 1 < x < ∞ and 0 < q < ∞, with six terms of the sum and as many corrections.
MORPHAX_INLINE double regular_zeta(double x, double q) {
  const auto power = [x](double place) { return exponential(-x * logarithm(place)); };
  const double sum =
      power(q) + power(q + 1) + power(q + 2) + power(q + 3) + power(q + 4) + power(q + 5);
  const double a = q + 6, at_end = power(a);
  const double rest = a / (x - 1) + 0.5 + corrections(x, 1 / a, std::make_index_sequence<6>());
  // Where the power vanishes, the corrections may have overflowed.
  return sum + (at_end > 0 ? at_end * rest : 0);
}

// The same with all digits, for differences of such sums.
double precise_zeta(double x, double q) {
  double sum = 0;
  for (int k = 0; k < 10; ++k) sum += std::pow(q + k, -x);
  const double a = q + 10, at_end = std::pow(a, -x);
  const double rest = a / (x - 1) + 0.5 + corrections(x, 1 / a, std::make_index_sequence<10>());
  return sum + (at_end > 0 ? at_end * rest : 0);
}

MORPHAX_INLINE bool is_regular(double x, double q) {
  return x > 1 && x < kInfinity && q > 0 && q < kInfinity;
}

inline bool is_whole(double x) { return x == std::floor(x); }

// ζ(x, q) of any numbers.
double any_zeta(double x, double q) {
  if (is_regular(x, q)) return precise_zeta(x, q);
  const bool is_pole = q <= 0 && is_whole(q), is_even = is_whole(x / 2) && std::abs(x) < kInfinity;
  if (x == 1) return kInfinity;
  if (is_pole && is_even) return kInfinity;
  if (!(x > 1 && x < kInfinity) || is_pole || !(q < 0 && q > -kInfinity) || !is_whole(x))
    return kNan;
  // In this order: the first may cancel what there is, and the second be small beside both.
  const double above = precise_zeta(x, q - std::floor(q)), sign = is_even ? 1 : -1;
  return (above + sign * precise_zeta(x, std::ceil(q) - q)) - sign * precise_zeta(x, 1 - q);
}

// n!, ∞ from 171 on.
double factorial(double n) { return std::tgamma(n + 1); }

// The product x (x + 1) … (x + 5), by which the gamma function of x is less than that of x + 6, and
// its derivative.
struct Rising {
  double product, slope;
};
MORPHAX_INLINE Rising rising(double x) {
  double product = x, slope = 1;
#pragma GCC unroll 8
  for (int k = 1; k < 6; ++k) {
    slope = slope * (x + k) + product;
    product *= x + k;
  }
  return {product, slope};
}

// ψ(x) for 0 < x < ∞: by the recurrence at x + 6, and there the asymptotic series.
MORPHAX_INLINE double regular_digamma(double x) {
  constexpr double kSeries[] = {691 / 32760., -1 / 132., 1 / 240., -1 / 252., 1 / 120., -1 / 12.};
  const double a = x + 6, inverse = 1 / a, square = inverse * inverse;
  const Rising below = rising(x);
  return logarithm(a) - 0.5 * inverse + polynomial(kSeries, square) * square -
         below.slope / below.product;
}

double any_digamma(double x) {
  if (x > 0) return x < kInfinity ? regular_digamma(x) : x;
  if (!(x > -kInfinity) || is_whole(x)) return kNan;
  constexpr double kPi = 3.14159265358979323846;
  return regular_digamma(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
}

// log Γ(x) for 0 < x < ∞, with 13 digits after the point.
MORPHAX_INLINE double regular_lgamma(double x) {
  constexpr double kStirling[] = {-691 / 360360., 1 / 1188., -1 / 1680.,
                                  1 / 1260.,      -1 / 360., 1 / 12.};
  constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;
  const double a = x + 6, inverse = 1 / a;
  const double rest = polynomial(kStirling, inverse * inverse) * inverse + kHalfLogOfTwoPi;
  return (a - 0.5) * logarithm(a) - a + rest - logarithm(rising(x).product);
}

// Whether log Γ(x) is neither of a number that is not positive nor next to one of its zeros.
MORPHAX_INLINE bool is_far_from_zeros(double x) {
  return x > 0 && x < kInfinity && std::abs(x - 1) > 1e-3 && std::abs(x - 2) > 1e-3;
}

double any_lgamma(double x) {
  if (std::abs(x) == kInfinity) return kInfinity;
  int sign;  // which the C library's `lgamma` writes into a variable of all threads
  return lgamma_r(x, &sign);
}

// Of higher orders the factorial and the sum leave the range of double precision.
constexpr double kFactorials = 100;
struct Factorials {
  double values[static_cast<std::size_t>(kFactorials)];
  Factorials() {
    values[0] = 1;
    for (int n = 1; n < kFactorials; ++n) values[n] = values[n - 1] * n;
  }
};
const Factorials factorials;

// Whether n is an order n > 0 whose factorial is in the table, and x a positive finite number.
inline bool is_regular_order(double n, double x) {
  return n > 0 && n < kFactorials && is_whole(n) && x > 0 && x < kInfinity;
}

double any_polygamma(double order, double x) {
  if (order == 0) return any_digamma(x);
  if (!(order > 0) || !is_whole(order)) return kNan;
  const double size = factorial(order) * any_zeta(order + 1, x);
  return is_whole(order / 2) ? -size : size;
}

// Results one by one, where the numbers are not those of the straight line.
template <typename IsRegular, typename Function>
[[gnu::noinline]] void mended(std::size_t count, const float* xs, float* results,
                              IsRegular is_regular, Function function) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_regular(xs[i])) results[i] = static_cast<float>(function(xs[i]));
  }
}

// xʸ of numbers of single precision, all of which are normal here; exceptions are C99's (F.10.4.4).
MORPHAX_INLINE double power_of(double x, double y) {
  const double size = std::abs(x);
  const double log = size == 0 ? -kInfinity : size < kInfinity ? logarithm(size) : size;
  const double exponent = size == 1 ? 0 : y * log;
  const double magnitude = exponential(exponent);
  const bool is_whole = __builtin_trunc(y) == y;
  const bool is_odd = is_whole && __builtin_trunc(y * 0.5) != y * 0.5;
  const double power = is_odd ? __builtin_copysign(magnitude, x) : magnitude;
  const bool is_real = is_whole || x >= 0 || size == kInfinity;
  return y == 0 || x == 1 ? 1 : is_real ? power : kNan;
}

template <typename IsRegular, typename Function>
[[gnu::noinline]] void mended(std::size_t count, const float* xs, const float* ys, float* results,
                              IsRegular is_regular, Function function) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_regular(xs[i], ys[i])) results[i] = static_cast<float>(function(xs[i], ys[i]));
  }
}

}  // namespace

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_OF_TWO(NAME, FUNCTION)                                                 \
  MORPHAX_VECTORIZED_WIDE                                                              \
  void NAME(std::size_t count, const void* a, const void* b, const void*, void* out) { \
    const auto *xs = static_cast<const float*>(a), *ys = static_cast<const float*>(b); \
    auto* results = static_cast<float*>(out);                                          \
    for (std::size_t i = 0; i < count; ++i) {                                          \
      const double x = xs[i], y = ys[i];                                               \
      results[i] = static_cast<float>(FUNCTION(x, y));                                 \
    }                                                                                  \
  }

MORPHAX_STEPS(bessel_i0e, double, i0e_of)
MORPHAX_STEPS(bessel_i1e, double, i1e_of)
MORPHAX_STEPS(erfc, double, erfc_of)
MORPHAX_OF_TWO(power, power_of)
namespace {
MORPHAX_STEPS(regular_lgammas, double, regular_lgamma)
MORPHAX_STEPS(regular_digammas, double, regular_digamma)
MORPHAX_OF_TWO(regular_zetas, regular_zeta)
}  // namespace

void lgamma(std::size_t count, const void* x, const void*, const void*, void* out) {
  regular_lgammas(count, x, nullptr, nullptr, out);
  mended(count, static_cast<const float*>(x), static_cast<float*>(out), is_far_from_zeros,
         any_lgamma);
}

void digamma(std::size_t count, const void* x, const void*, const void*, void* out) {
  regular_digammas(count, x, nullptr, nullptr, out);
  const auto is_positive = [](double x) { return x > 0 && x < kInfinity; };
  mended(count, static_cast<const float*>(x), static_cast<float*>(out), is_positive, any_digamma);
}

void zeta(std::size_t count, const void* x, const void* q, const void*, void* out) {
  regular_zetas(count, x, q, nullptr, out);
  mended(count, static_cast<const float*>(x), static_cast<const float*>(q),
         static_cast<float*>(out), is_regular, any_zeta);
}

namespace {

// In double precision, for what leaves the range of float32 before it is multiplied.
MORPHAX_VECTORIZED_WIDE
void wide_zetas(std::size_t count, const double* orders, const float* xs, double* results) {
  for (std::size_t i = 0; i < count; ++i) results[i] = regular_zeta(orders[i] + 1, xs[i]);
}

}  // namespace

void polygamma(std::size_t count, const void* order, const void* x, const void*, void* out) {
  constexpr std::size_t kBlock = 256;
  double orders[kBlock], sums[kBlock];
  const auto *ns = static_cast<const float*>(order), *xs = static_cast<const float*>(x);
  auto* results = static_cast<float*>(out);
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t size = count - start < kBlock ? count - start : kBlock;
    for (std::size_t i = 0; i < size; ++i) {
      orders[i] = is_regular_order(ns[start + i], xs[start + i]) ? ns[start + i] : 1.;
    }
    wide_zetas(size, orders, xs + start, sums);
    for (std::size_t i = 0; i < size; ++i) {
      const auto n = static_cast<std::size_t>(orders[i]);
      const double value = factorials.values[n] * sums[i];
      results[start + i] = static_cast<float>(n % 2 ? value : -value);
    }
  }
  mended(count, ns, xs, results, is_regular_order, any_polygamma);
}

}  // namespace morphax::special_functions
