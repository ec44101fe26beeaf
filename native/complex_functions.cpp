// Functions of complex64, whose twins are NumPy's.
//
// The parts are computed in double precision and rounded once.  Products of parts are exact there,
// and neither their sums nor exponentials leave the range, so that nothing is scaled.  Where a part
// is infinite, NaN or too large, the C library's function is taken, number by number, which has the
// values of C's annex G, as NumPy's functions have.
//
// With z = x + i y:
//
//     sinh z = sinh x cos y + i cosh x sin y        sin z = −i sinh(i z)
//     cosh z = cosh x cos y + i sinh x sin y        cos z = cosh(i z)
//     tanh z = (sinh x cosh x + i sin y cos y) / (sinh² x + cos² y)
//     log z = ½ log(x² + y²) + i arg z, where x² + y² − 1 is known exactly next to 1
//
// References:
//     ISO/IEC 9899:2011, Annex G.
//     Kahan, "Branch cuts for complex elementary functions", in: Iserles and Powell, The State of
//     the Art in Numerical Analysis (1987).
//     Smith, "Algorithm 116: Complex division", Commun. ACM 5 (1962).
#include "complex_functions.h"

#include <cmath>
#include <complex>
#include <limits>

#include "complex_loops.h"
#include "wide_elementary.h"
#include "wide_waves.h"

namespace morphax::complex_functions {

namespace {

using wide::angle;
using wide::exponential;
using wide::hyperbolic_sine_and_cosine;
using wide::kLargestAngle;
using wide::kLargestHeight;
using wide::sine_and_cosine;

constexpr double kLog2 = 0.69314718055994530942, kPerLog2 = 1.44269504088896340736;

// Whether a height and an angle are such as the formulas have them.
MORPHAX_INLINE bool is_wave(double height, double angle) {
  return (__builtin_fabs(height) <= kLargestHeight) & (__builtin_fabs(angle) <= kLargestAngle);
}
MORPHAX_INLINE bool is_turned_wave(double x, double y) { return is_wave(y, x); }

MORPHAX_INLINE Pair exponential_of(double x, double y) {
  const double size = exponential(x);
  const Pair direction = sine_and_cosine(y);
  return {size * direction.second, size * direction.first};
}
Complex exp_of(Complex z) { return std::exp(z); }

MORPHAX_INLINE Pair power_of_two(double x, double y) {
  return exponential_of(x * kLog2, y * kLog2);
}
Complex exp2_of(Complex z) { return std::exp(Complex(z.real() * kLog2, z.imag() * kLog2)); }

// (eˣ − 1) cos y + (cos y − 1), of which either may be small.
MORPHAX_INLINE Pair exponential_less_one(double x, double y) {
  const double half = exponential(0.5 * x);
  const double rest = 2 * half * hyperbolic_sine_and_cosine(0.5 * x).first;
  const Pair direction = sine_and_cosine(y), of_half = sine_and_cosine(0.5 * y);
  return {rest * direction.second - 2 * of_half.first * of_half.first,
          half * half * direction.first};
}
Complex expm1_of(Complex z) {
  const Complex power = std::exp(z);
  const bool is_far = z.real() == kInfinity;
  return {is_far ? power.real() : power == 0.0 ? -1 : power.real() - 1, power.imag()};
}

// log |z| by the square of the modulus, and by how much that is more than 1.
MORPHAX_INLINE double log_of_root(double square, double less_one) {
  constexpr double kLeast = std::numeric_limits<double>::min();
  return square > 0 ? 0.5 * wide::logarithm(square < kLeast ? kLeast : square, less_one)
                    : -kInfinity;
}

MORPHAX_INLINE Pair logarithm(double x, double y) {
  const double width = __builtin_fabs(x), height = __builtin_fabs(y);
  const double high = width > height ? width : height, low = width > height ? height : width;
  const double less_one = (high * high - 1) + low * low;
  return {log_of_root(high * high + low * low, less_one), angle(x, y)};
}
Complex log_of(Complex z) { return std::log(z); }

MORPHAX_INLINE Pair logarithm_to_base_two(double x, double y) {
  const Pair log = logarithm(x, y);
  return {log.first * kPerLog2, log.second * kPerLog2};
}
Complex log2_of(Complex z) {
  const Complex log = std::log(z);
  return {log.real() * kPerLog2, log.imag() * kPerLog2};
}

MORPHAX_INLINE Pair logarithm_of_following(double x, double y) {
  const double next = x + 1;
  return {log_of_root(next * next + y * y, x * (2 + x) + y * y), angle(next, y)};
}
Complex log1p_of(Complex z) { return std::log(1.0 + z); }

// (a + i b) / (x + i y).  The larger part of the divisor is taken as positive and its sign put back
// in the end, which gives zeros the signs of Smith's algorithm.
MORPHAX_INLINE Pair ratio(double a, double b, double x, double y) {
  const double larger = __builtin_fabs(x) >= __builtin_fabs(y) ? x : y;
  const double sign = __builtin_copysign(1, larger), inverse = sign / (x * x + y * y);
  const double u = sign * x, v = sign * y;
  return {(a * u + b * v) * inverse, (b * u - a * v) * inverse};
}
// An infinite number as the corner of the unit square in its direction.
inline Complex boxed(Complex z) {
  const auto side = [](double part) { return std::copysign(std::isinf(part) ? 1.0 : 0.0, part); };
  return {side(z.real()), side(z.imag())};
}
inline bool is_infinite(Complex z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
Complex scaled(Complex z, double factor) { return {factor * z.real(), factor * z.imag()}; }
Complex product_with_conjugate(Complex z, Complex w) {
  return {z.real() * w.real() + z.imag() * w.imag(), z.imag() * w.real() - z.real() * w.imag()};
}
Complex smith_ratio(Complex z, Complex w) {
  const bool is_flat = std::abs(w.real()) >= std::abs(w.imag());
  const double larger = is_flat ? w.real() : w.imag(), smaller = is_flat ? w.imag() : w.real();
  const double slope = smaller / larger, scale = 1 / (larger + smaller * slope);
  const double u = is_flat ? 1 : slope, v = is_flat ? slope : 1;
  return {(z.real() * u + z.imag() * v) * scale, (z.imag() * u - z.real() * v) * scale};
}
// The quotient with the infinities and zeros of C's annex G.5.1, where that algorithm has NaN.
Complex any_ratio(Complex z, Complex w) {
  const Complex found = smith_ratio(z, w);
  const bool is_nan = std::isnan(z.real()) && std::isnan(z.imag());
  if (are_finite(found.real(), found.imag())) return found;
  if (w == 0.0 && !is_nan) return scaled(z, std::copysign(kInfinity, w.real()));
  if (is_infinite(z) && are_finite(w.real(), w.imag()))
    return scaled(product_with_conjugate(boxed(z), w), kInfinity);
  if (are_finite(z.real(), z.imag()) && is_infinite(w))
    return scaled(product_with_conjugate(z, boxed(w)), 0);
  return found;
}

MORPHAX_INLINE bool is_ratio(double a, double b, double x, double y) {
  return are_finite(a, b) & are_finite(x, y) & ((x != 0) | (y != 0));
}

// e^(w log z).
MORPHAX_INLINE Pair exponent_of_power(double x, double y, double u, double v) {
  const Pair log = logarithm(x, y);
  return {u * log.first - v * log.second, v * log.first + u * log.second};
}
MORPHAX_INLINE Pair power_of(double x, double y, double u, double v) {
  const Pair exponent = exponent_of_power(x, y, u, v);
  return exponential_of(exponent.first, exponent.second);
}
// Whole powers are products, exact where they can be.
MORPHAX_INLINE bool is_whole_power(double u, double v) {
  return (v == 0) & (__builtin_trunc(u) == u) & (__builtin_fabs(u) < 100);
}
MORPHAX_INLINE bool is_power(double x, double y, double u, double v) {
  const Pair exponent = exponent_of_power(x, y, u, v);
  return are_finite(x, y) & are_finite(u, v) & ((x != 0) | (y != 0)) & !is_whole_power(u, v) &
         is_wave(exponent.first, exponent.second);
}
Complex product(Complex z, Complex w) {
  return {z.real() * w.real() - z.imag() * w.imag(), z.real() * w.imag() + z.imag() * w.real()};
}
Complex whole_power(Complex z, int exponent) {
  Complex power = (exponent & 1) != 0 ? z : Complex(1);
  for (int rest = exponent >> 1; rest > 0; rest >>= 1) {
    z = product(z, z);
    if ((rest & 1) != 0) power = power == 1.0 ? z : product(power, z);
  }
  return power;
}
// Zero has real positive powers only, and its power 0 is 1.
Complex any_power(Complex z, Complex w) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (w == 0.0) return 1;
  if (z == 0.0) return w.imag() == 0 && w.real() > 0 ? Complex(0) : Complex(kNan, kNan);
  if (!is_whole_power(w.real(), w.imag())) return std::pow(z, w);
  const Complex power = whole_power(z, static_cast<int>(std::abs(w.real())));
  return w.real() < 0 ? any_ratio(1, power) : power;
}

// By the exponential that is at most 1.
MORPHAX_INLINE Pair sigmoid(double x, double y) {
  const Pair power = exponential_of(-__builtin_fabs(x), x < 0 ? y : -y);
  const double real = x < 0 ? power.first : 1, imag = x < 0 ? power.second : 0;
  return ratio(real, imag, 1 + power.first, power.second);
}
Complex logistic_of(Complex z) { return any_ratio(1, 1.0 + std::exp(-z)); }

MORPHAX_INLINE Pair hyperbolic_sine(double x, double y) {
  const Pair height = hyperbolic_sine_and_cosine(x), direction = sine_and_cosine(y);
  return {height.first * direction.second, height.second * direction.first};
}
Complex sinh_of(Complex z) { return std::sinh(z); }

MORPHAX_INLINE Pair hyperbolic_cosine(double x, double y) {
  const Pair height = hyperbolic_sine_and_cosine(x), direction = sine_and_cosine(y);
  return {height.second * direction.second, height.first * direction.first};
}
Complex cosh_of(Complex z) { return std::cosh(z); }

MORPHAX_INLINE Pair sine(double x, double y) {
  const Pair turned = hyperbolic_sine(-y, x);
  return {turned.second, -turned.first};
}
Complex sin_of(Complex z) { return std::sin(z); }

MORPHAX_INLINE Pair cosine(double x, double y) { return hyperbolic_cosine(-y, x); }
Complex cos_of(Complex z) { return std::cos(z); }

MORPHAX_INLINE Pair hyperbolic_tangent(double x, double y) {
  constexpr double kOne = 300;  // whose tangent is 1, and whose squares are in the range
  const Pair height = hyperbolic_sine_and_cosine(x < -kOne ? -kOne : x > kOne ? kOne : x);
  const Pair direction = sine_and_cosine(y);
  const double inverse = 1 / (height.first * height.first + direction.second * direction.second);
  return {height.first * height.second * inverse, direction.first * direction.second * inverse};
}
MORPHAX_INLINE bool has_tangent(double x, double y) {
  return is_finite(x) & (__builtin_fabs(y) <= kLargestAngle);
}
Complex tanh_of(Complex z) { return std::tanh(z); }

MORPHAX_INLINE Pair tangent(double x, double y) {
  const Pair turned = hyperbolic_tangent(-y, x);
  return {turned.second, -turned.first};
}
MORPHAX_INLINE bool has_turned_tangent(double x, double y) { return has_tangent(y, x); }
Complex tan_of(Complex z) { return std::tan(z); }

// On the branch cut it is that of +0, as in compiled programs.
MORPHAX_INLINE Pair root(double x, double y) {
  const double above = y + 0.0;
  const double size = __builtin_sqrt(x * x + above * above);
  const double larger = __builtin_sqrt(0.5 * (__builtin_fabs(x) + size));
  const double smaller = larger > 0 ? 0.5 * above / larger : above;
  return {x < 0 ? __builtin_fabs(smaller) : larger,
          x < 0 ? __builtin_copysign(larger, above) : smaller};
}
Complex sqrt_of(Complex z) { return std::sqrt(Complex(z.real(), z.imag() + 0.0)); }

MORPHAX_INLINE Pair direction_of(double x, double y) {
  const double square = x * x + y * y, inverse = square > 0 ? 1 / __builtin_sqrt(square) : 1;
  return {x * inverse, y * inverse};
}
Complex sign_of(Complex z) {
  const double size = std::abs(z);
  return {z.real() / size, z.imag() / size};
}

}  // namespace

MORPHAX_OF_COMPLEX(exp, exponential_of, is_wave)
MORPHAX_OF_COMPLEX(exp2, power_of_two, is_wave)
MORPHAX_OF_COMPLEX(expm1, exponential_less_one, is_wave)
MORPHAX_OF_COMPLEX(log, logarithm, are_finite)
MORPHAX_OF_COMPLEX(log2, logarithm_to_base_two, are_finite)
MORPHAX_OF_COMPLEX(log1p, logarithm_of_following, are_finite)
MORPHAX_OF_COMPLEX(logistic, sigmoid, is_wave)
MORPHAX_OF_COMPLEX(sin, sine, is_turned_wave)
MORPHAX_OF_COMPLEX(cos, cosine, is_turned_wave)
MORPHAX_OF_COMPLEX(tan, tangent, has_turned_tangent)
MORPHAX_OF_COMPLEX(sinh, hyperbolic_sine, is_wave)
MORPHAX_OF_COMPLEX(cosh, hyperbolic_cosine, is_wave)
MORPHAX_OF_COMPLEX(tanh, hyperbolic_tangent, has_tangent)
MORPHAX_OF_COMPLEX(sqrt, root, are_finite)
MORPHAX_OF_COMPLEX(sign, direction_of, are_finite)

// The same of two numbers.
#define MORPHAX_OF_TWO(NAME, FUNCTION, IS_REGULAR, ANY)                                         \
  namespace {                                                                                   \
  MORPHAX_VECTORIZED_WIDE                                                                       \
  bool NAME##_of_regular(std::size_t count, const float* zs, const float* ws, float* results) { \
    std::uint64_t irregular = 0;                                                                \
    for (std::size_t i = 0; i < count; ++i) {                                                   \
      const double a = zs[2 * i], b = zs[2 * i + 1], x = ws[2 * i], y = ws[2 * i + 1];          \
      const Pair value = FUNCTION(a, b, x, y);                                                  \
      results[2 * i] = static_cast<float>(value.first);                                         \
      results[2 * i + 1] = static_cast<float>(value.second);                                    \
      irregular |= IS_REGULAR(a, b, x, y) ? 0 : 1;                                              \
    }                                                                                           \
    return irregular == 0;                                                                      \
  }                                                                                             \
  }                                                                                             \
  void NAME(std::size_t count, const void* z, const void* w, const void*, void* out) {          \
    const auto *zs = static_cast<const float*>(z), *ws = static_cast<const float*>(w);          \
    auto* results = static_cast<float*>(out);                                                   \
    if (NAME##_of_regular(count, zs, ws, results)) return;                                      \
    for (std::size_t i = 0; i < 2 * count; i += 2) {                                            \
      if (!IS_REGULAR(zs[i], zs[i + 1], ws[i], ws[i + 1]))                                      \
        store(ANY(number(zs + i), number(ws + i)), results + i);                                \
    }                                                                                           \
  }

MORPHAX_OF_TWO(quotient, ratio, is_ratio, any_ratio)
MORPHAX_OF_TWO(power, power_of, is_power, any_power)

#undef MORPHAX_OF_TWO

}  // namespace morphax::complex_functions
