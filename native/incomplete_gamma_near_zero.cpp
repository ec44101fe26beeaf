// The formulas of `incomplete_gamma_formulas.h` near zero, with as many terms for each element, so
// that its bits do not depend on its neighbours.
#include "incomplete_gamma_near_zero.h"

#include <algorithm>
#include <cmath>

#include "kernels.h"
#include "wide_elementary.h"

namespace morphax::incomplete_gamma {

namespace {

// log Γ(1 + a) of a ≤ 1, with all its digits where a is small: a polynomial in 2a − 1.
MORPHAX_INLINE double log_gamma_above_one(double a) {
  constexpr double kPolynomial[] = {
      -1.9937210594609962e-07, 6.284649122107779e-07,   -1.3969927228630328e-06,
      4.660257302562204e-06,   -1.6364703594612403e-05, 5.5241856401123874e-05,
      -0.00018980369045907893, 0.0006721417624659927,   -0.0024816935395895086,
      0.009820711040757449,    -0.044353898876818655,   0.27805444905298204,
      -0.2415644752729182};
  return a * wide::polynomial(kPolynomial, 2 * a - 1);
}

// The same of a > 1, by Stirling's series of a + 9.
MORPHAX_INLINE double log_gamma_above_two(double a) {
  constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;
  constexpr double kStirling[] = {1 / 1260., -1 / 360., 1 / 12.};
  const double z = a + 1, w = a + 9, inverse = 1 / w;
  const double first = z * (z + 1) * (z + 2) * (z + 3),
               last = (z + 4) * (z + 5) * (z + 6) * (z + 7);
  const double rest = wide::polynomial(kStirling, inverse * inverse) * inverse;
  return (w - 0.5) * wide::logarithm(w) - w + kHalfLogOfTwoPi + rest -
         wide::logarithm(first * last);
}

// Four terms of the series from the one with a + n = b on, whose last one is multiplied by `rest`.
MORPHAX_INLINE double four_terms(double b, double x, double rest) {
  const double last = b + 3, outer = (b + 2) * last;
  const double sum = (b + 1) * outer + x * (outer + x * (last + x * rest));
  return x * sum / (b * (b + 1) * outer);
}

// eˣ − 1 with 12 digits.
MORPHAX_INLINE double exponential_minus_one(double x) {
  constexpr double kTaylor[] = {1 / 479001600., 1 / 39916800., 1 / 3628800., 1 / 362880.,
                                1 / 40320.,     1 / 5040.,     1 / 720.,     1 / 120.,
                                1 / 24.,        1 / 6.,        1 / 2.,       1.};
  const double near = x * wide::polynomial(kTaylor, x);
  const double far = wide::exponential(x) - 1;
  return std::abs(x) < 0.5 ? near : far;
}

// log(1 + x): Kahan's correction of what the sum loses.
MORPHAX_INLINE double logarithm_of_next(double x) {
  const double next = x + 1, kept = next - 1;
  const double ratio = wide::logarithm(next) / kept;
  return kept == 0 ? x : x * ratio;
}

MORPHAX_VECTORIZED
void set_exponents(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double small = b.a[i] < 1 ? b.a[i] : 1;
    b.exponent[i] = b.a[i] * wide::logarithm(b.x[i]) - log_gamma_above_one(small);
  }
  if (std::all_of(b.a, b.a + NearZero::kCount, [](double a) { return a <= 1; })) return;
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double of_large = b.a[i] * wide::logarithm(b.x[i]) - log_gamma_above_two(b.a[i]);
    b.exponent[i] = b.a[i] > 1 ? of_large : b.exponent[i];
  }
}

MORPHAX_VECTORIZED
void set_lower(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double a = b.a[i], x = b.x[i];
    // What follows twelve terms is less than 10⁻⁹.
    const double last = four_terms(a + 9, x, 1), middle = four_terms(a + 5, x, 1 + last);
    b.series[i] = 1 + four_terms(a + 1, x, 1 + middle);
    b.lower[i] = wide::exponential(b.exponent[i] - x) * b.series[i];
  }
}

// 1/n!.
constexpr double inverse_factorial(int n) { return n < 2 ? 1. : inverse_factorial(n - 1) / n; }

// Two terms of Σₙ (−x)ⁿ / (n! (a+n)), less (−x)ⁿ, from n on.
template <int n>
MORPHAX_INLINE double two_terms(double a, double x) {
  constexpr double kFirst = inverse_factorial(n), kSecond = inverse_factorial(n + 1);
  const double b = a + n, next = a + (n + 1);
  return (kFirst * next - kSecond * x * b) / (b * next);
}

// Q where it is no difference from P: (1 − xᵃ/Γ(a+1)) − xᵃ/Γ(a+1) a Σₙ (−x)ⁿ / (n! (a+n)).
MORPHAX_INLINE double small_upper(double a, double x, double exponent) {
  const double y = x * x;
  double sum = two_terms<11>(a, x);
  sum = sum * y + two_terms<9>(a, x);
  sum = sum * y + two_terms<7>(a, x);
  sum = sum * y + two_terms<5>(a, x);
  sum = sum * y + two_terms<3>(a, x);
  sum = sum * y + two_terms<1>(a, x);
  return wide::exponential(exponent) * a * sum * x - exponential_minus_one(exponent);
}

MORPHAX_VECTORIZED
void set_upper(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double small = small_upper(b.a[i], b.x[i], b.exponent[i]), difference = 1 - b.lower[i];
    b.upper[i] = (b.lower[i] > 0.5) & (b.a[i] <= 1) ? small : difference;
  }
}

MORPHAX_VECTORIZED
void set_logarithm_of_lower(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double own = b.exponent[i] - b.x[i] + wide::logarithm(b.series[i]);
    const double of_upper = logarithm_of_next(-b.upper[i]);
    b.result[i] = (b.lower[i] > 0.5) & (b.a[i] <= 1) ? of_upper : own;
  }
}

MORPHAX_VECTORIZED
void set_logarithm_of_upper(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double own = wide::logarithm(b.upper[i]), of_lower = logarithm_of_next(-b.lower[i]);
    b.result[i] = (b.lower[i] > 0.5) & (b.a[i] <= 1) ? own : of_lower;
  }
}

// ψ(z) for 1 ≤ z ≤ 31: moved up by ten steps, and there the asymptotic series.
//
// Σ 1 / (z + k) for k < 10 is 2z + 9 times Σ 1 / (u + c) with u = z (z + 9), where c is k (9 − k):
// the logarithmic derivative of Π (u + c), of which the polynomials are the derivative and the
// product.
MORPHAX_INLINE double digamma_above_one(double z) {
  constexpr double kSlope[] = {5, 240, 3924, 24352, 40320};
  constexpr double kProduct[] = {1, 60, 1308, 12176, 40320, 0};
  constexpr double kSeries[] = {-1 / 240., 1 / 252., -1 / 120., 1 / 12.};
  const double u = z * (z + 9), high = z + 10, inverse = 1 / high, square = inverse * inverse;
  const double below = (2 * z + 9) * wide::polynomial(kSlope, u) / wide::polynomial(kProduct, u);
  const double rest = 0.5 * inverse + square * wide::polynomial(kSeries, square);
  return wide::logarithm(high) - rest - below;
}

// Sums over n of (−x)ⁿ / n! times 1 / (a+n), and times n / (a+n)².
struct Sums {
  double value, slope;
};

// Puts two terms, from n on, before sums of those that follow.
template <int n>
MORPHAX_INLINE Sums two_terms_before(Sums sums, double a, double x, double square) {
  constexpr double kFirst = inverse_factorial(n), kSecond = inverse_factorial(n + 1);
  const double b = a + n, next = a + (n + 1), inverse = 1 / (b * next);
  const double first = next * inverse, second = b * inverse;
  const double value = kFirst * first - kSecond * x * second;
  const double slope = n * kFirst * first * first - (n + 1) * kSecond * x * second * second;
  return {sums.value * square + value, sums.slope * square + slope};
}

// With M = e⁻ˣ S = 1 + a Σ (−x)ⁿ / (n! (a+n)), where S is the series, the slope is
// (ψ(a+1) − log x) M − M′.
MORPHAX_VECTORIZED
void set_slopes(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    const double a = b.a[i], x = b.x[i], square = x * x;
    // What follows fourteen terms is less than 10⁻¹¹.
    Sums sums = two_terms_before<13>({0, 0}, a, x, square);
    sums = two_terms_before<11>(sums, a, x, square);
    sums = two_terms_before<9>(sums, a, x, square);
    sums = two_terms_before<7>(sums, a, x, square);
    sums = two_terms_before<5>(sums, a, x, square);
    sums = two_terms_before<3>(sums, a, x, square);
    sums = two_terms_before<1>(sums, a, x, square);
    const double score = digamma_above_one(a + 1) - wide::logarithm(x);
    b.slope[i] = score * (1 - x * a * sums.value) + x * sums.slope;
  }
}

MORPHAX_VECTORIZED
void set_slope_of_lower(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    b.result[i] = -wide::exponential(b.exponent[i]) * b.slope[i];
  }
}

MORPHAX_VECTORIZED
void set_slope_of_sample(NearZero& b) {
  for (int i = 0; i < NearZero::kCount; ++i) {
    b.result[i] = b.x[i] / b.a[i] * wide::exponential(b.x[i]) * b.slope[i];
  }
}

}  // namespace

void NearZero::compute_lower() {
  set_exponents(*this), set_lower(*this);
  std::copy_n(lower, kCount, result);
}

void NearZero::compute_upper() {
  set_exponents(*this), set_lower(*this), set_upper(*this);
  std::copy_n(upper, kCount, result);
}

void NearZero::compute_log_of_lower() {
  set_exponents(*this), set_lower(*this), set_upper(*this), set_logarithm_of_lower(*this);
}

void NearZero::compute_log_of_upper() {
  set_exponents(*this), set_lower(*this), set_upper(*this), set_logarithm_of_upper(*this);
}

void NearZero::compute_slope_of_lower() {
  set_exponents(*this), set_slopes(*this), set_slope_of_lower(*this);
}

void NearZero::compute_slope_of_sample() { set_slopes(*this), set_slope_of_sample(*this); }

}  // namespace morphax::incomplete_gamma
