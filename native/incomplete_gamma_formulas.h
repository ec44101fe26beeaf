// The incomplete gamma functions and their slopes, of one element: the compiled form of
// `morphax/lax/elementwise/incomplete_gamma_formulas.py`, where the ways are told and papers named.
//
// Each element goes one way alone, for as many steps as it needs, in double precision.  What
// depends on the parameter a alone is computed once for elements in a row that share it.
#pragma once

#include <algorithm>
#include <cmath>

#include "gamma_parts.h"

namespace morphax::incomplete_gamma {

constexpr double kLogOfTwo = 0.69314718055994531;
constexpr double kStartOfUniform = 30, kStartOfFraction = 1.1;
constexpr double kMostSteps = 1000;

// A sum, and its derivative with respect to a.
struct Sum {
  double value, slope;
};

// What depends on the parameter a alone.
struct Parameter {
  double a = kNan, precision = 0;
  // log Γ(a+1) and 1/Γ(a+1) below the start of Stirling's series; above, the factor that is left of
  // D beside the exponential, and its logarithm.
  double log_gamma = 0, factor = 0, log_factor = 0;
  // ψ(a) and ψ(a+1), if slopes are asked for.
  double digamma = 0, digamma_of_next = 0;
  // T of Temme's expansion as a polynomial in η, and its derivative with respect to 1/a.
  bool is_expanded = false;
  double temme[kMostPowers], by_inverse[kMostPowers];

  void set(double parameter, double wanted, bool is_sloped) {
    a = parameter, precision = wanted, is_expanded = false;
    if (a >= kStartOfStirling) {
      const double log_scaled = log_scaled_gamma(a);
      factor = std::exp(-log_scaled) / std::sqrt(2 * kPi * a);
      log_factor = -log_scaled - 0.5 * std::log(2 * kPi * a);
    } else {
      log_gamma = log_gamma_of_next(a, precision);
      factor = std::exp(-log_gamma);
    }
    if (!is_sloped) return;
    digamma = incomplete_gamma::digamma(a);
    digamma_of_next = incomplete_gamma::digamma(a + 1);
  }

  // The logarithm of D beside a log x − x.
  double log_of_constant() const {
    return a >= kStartOfStirling ? a - a * std::log(a) + log_factor : -log_gamma;
  }

  void expand() {
    if (is_expanded) return;
    const double inverse = 1 / a;
    std::fill_n(temme, kMostPowers, 0), std::fill_n(by_inverse, kMostPowers, 0);
    for (int k = kTerms - 1; k >= 0; --k) {
      for (int i = 0; i < kMostPowers; ++i) {
        by_inverse[i] = by_inverse[i] * inverse + temme[i];
        temme[i] = temme[i] * inverse + kTemme[k][i];
      }
    }
    is_expanded = true;
  }
};

// The exponent of D that depends on both, for a where Stirling's series holds.
inline double stirling_exponent(double a, double x) { return a * log1p_minus((x - a) / a, x / a); }

// D = xᵃ e⁻ˣ / Γ(a+1) for a > 0, x > 0.
inline double leading_factor(const Parameter& p, double x) {
  if (p.a >= kStartOfStirling) return std::exp(stirling_exponent(p.a, x)) * p.factor;
  // Beyond, the exponential is 0 and the power might overflow.
  const double bounded = std::min(x, 1e4);
  // The digits that the exponential loses of a long exponent are not those of single precision.
  if (p.precision > 1e-9) return std::exp(p.a * std::log(bounded) - bounded - p.log_gamma);
  // In halves, for e⁻ˣ loses digits before D does.
  const double half = std::exp(-0.5 * bounded);
  return std::pow(bounded, p.a) * half * p.factor * half;
}

inline double log_leading_factor(const Parameter& p, double x) {
  if (p.a >= kStartOfStirling) return stirling_exponent(p.a, x) + p.log_factor;
  return p.a * std::log(x) - x - p.log_gamma;
}

// Whether the last term is not yet negligible beside a sum.
inline bool changes(double term, double sum, double precision) {
  return std::abs(term) > precision * std::abs(sum);
}

// Σₙ xⁿ / ((a+1) … (a+n)), and its slope.
inline Sum sloped_series(double a, double x, double precision) {
  double n = 0, t = 1, s = 1, dt = 0, ds = 0;
  while ((changes(t, s, precision) || changes(dt, ds, precision)) && n < kMostSteps) {
    n += 1;
    const double inverse = 1 / (a + n), ratio = x * inverse;
    dt = (dt - t * inverse) * ratio;
    ds += dt;
    t *= ratio;
    s += t;
  }
  return {s, ds};
}

// The value of the series alone, four terms at a time, which take one division.
inline double series(double a, double x, double precision) {
  constexpr double kMost = 1e70;  // beyond, products of four denominators overflow
  if (a > kMost) return sloped_series(a, x, precision).value;
  const double cube = x * x * x;
  double t = 1, s = 1;
  for (double n = a + 1; changes(t, s, precision) && n - a < kMostSteps; n += 4) {
    const double last = n + 3, outer = (n + 2) * last;
    // The quotient does not wait for the term before.
    const double scaled = t * (x / (n * (n + 1) * outer));
    s += scaled * ((n + 1) * outer + x * (outer + x * (last + x)));
    t = scaled * cube;
  }
  return s;
}

// Legendre's continued fraction by the recurrence of its numerators and denominators, which are
// positive.  Two of its values in a row differ by `apart` over both denominators.
inline double fraction(double a, double x, double precision) {
  constexpr double kLarge = 1e100, kSmall = 1e-100;
  double b = x + 1 - a;
  if (x > 1e20) return 1 / b;  // What follows is not seen beside it.
  double above = 1, last_above = 0, below = b, last_below = 1, apart = 1;
  for (double k = 1; k <= kMostSteps; k += 1) {
    b += 2;
    const double c = k * (a - k);
    const double next_above = b * above + c * last_above, next_below = b * below + c * last_below;
    last_above = above, above = next_above, last_below = below, below = next_below;
    apart *= c;
    if (!changes(apart, above * last_below, precision)) break;
    if (below > kLarge) {
      above *= kSmall, last_above *= kSmall, below *= kSmall, last_below *= kSmall;
      apart *= kSmall * kSmall;
    }
  }
  return above / below;
}

// The fraction and its slope, summed as Gautschi's series.
inline Sum sloped_fraction(double a, double x, double precision) {
  const double first = 1 / (x + 1 - a);
  double k = 0, i = first, r = 0, t = 1, s = 1, dr = 0, dt = 0, ds = 0;
  while ((changes(t, s, precision) || changes(dt, ds, precision)) && k < kMostSteps) {
    k += 1;
    const double following = 1 / (x + 1 - a + 2 * k), product = i * following * k;
    const double c = product * (k - a), v = c * (1 + r);
    const double dv = (c * (i + following) - product) * (1 + r) + c * dr;
    const double inverse = 1 / (1 - v);
    r = v * inverse;
    dr = dv * inverse * inverse;
    dt = r * dt + dr * t;
    ds += dt;
    t *= r;
    s += t;
    i = following;
  }
  return {s * first, (ds + s * first) * first};
}

// η of Temme's expansion, and its square's half, for x = a (1 + distance).
struct Eta {
  double value, half_square;
};

inline Eta eta_of(double distance) {
  const double half_square = -log1p_minus(distance, distance + 1);
  return {std::copysign(std::sqrt(2 * half_square), distance), half_square};
}

// T(η) of Temme's expansion, Q = ½ erfc(η √(a/2)) + R T.
inline double temme_sum(Parameter& p, double eta) {
  p.expand();
  double value = 0;
  for (int i = kMostPowers - 1; i >= 0; --i) value = value * eta + p.temme[i];
  return value;
}

// Where the series goes and P comes near 1.
inline bool is_small(double a, double x) { return x < kStartOfFraction && a <= 1; }

// Q there.
inline double tail_of_small(const Parameter& p, double x) {
  const double a = p.a, exponent = a * std::log(x) - p.log_gamma;
  // What the exponential loses of a small P is not seen beside 1.
  const double below = std::exp(exponent - x) * series(a, x, p.precision);
  if (below <= 0.5) return 1 - below;
  double power = -x, term = power / (a + 1), total = term;
  for (int n = 2; n <= 20 && changes(term, total, p.precision); ++n) {
    power *= -x / n;
    term = power / (a + n);
    total += term;
  }
  return -std::expm1(exponent) - std::exp(exponent) * a * total;
}

enum class Way { kSeries, kFraction, kUniform };

inline Way way_of(double a, double x) {
  if (a >= kStartOfUniform && std::abs((x - a) / a) < 0.3) return Way::kUniform;
  return x >= kStartOfFraction && x >= a ? Way::kFraction : Way::kSeries;
}

// P, or Q if `kUpper`, of positive finite numbers.
template <bool kUpper>
double value(Parameter& p, double x) {
  switch (way_of(p.a, x)) {
    case Way::kUniform: {
      const Eta eta = eta_of((x - p.a) / p.a);
      const double factor = std::exp(-p.a * eta.half_square) / std::sqrt(2 * kPi * p.a);
      const double half = 0.5 * std::erfc((kUpper ? 1 : -1) * eta.value * std::sqrt(0.5 * p.a));
      return half + (kUpper ? 1 : -1) * factor * temme_sum(p, eta.value);
    }
    case Way::kFraction: {
      const double above = leading_factor(p, x) * p.a * fraction(p.a, x, p.precision);
      return kUpper ? above : 1 - above;
    }
    default: {
      if (kUpper && is_small(p.a, x)) return tail_of_small(p, x);
      const double below = leading_factor(p, x) * series(p.a, x, p.precision);
      return kUpper ? 1 - below : below;
    }
  }
}

// Tails below this are given by their logarithm.
constexpr double kRemote = 1e-200;

// A tail far from a ≥ 30 over exp(−a η²/2) / √(2πa), by Temme's expansion, where erfc z is
// e^(−z²) / (z √π) (1 − 1/(2z²) + 3/(4z⁴) − …).
template <bool kUpper>
double remote_total(Parameter& p, const Eta& eta) {
  const double root = std::sqrt(0.5 * p.a), z = std::abs(eta.value) * root;
  const double inverse = 0.5 / (z * z), sum = temme_sum(p, eta.value);
  const double scaled_erfc = (1 - inverse * (1 - inverse * (3 - 15 * inverse))) / z;
  return std::abs(root * scaled_erfc + (kUpper ? sum : -sum));
}

template <bool kUpper>
double log_of_remote_tail(Parameter& p, double x) {
  const Eta eta = eta_of((x - p.a) / p.a);
  const double log_total = std::log(remote_total<kUpper>(p, eta));
  return -p.a * eta.half_square - 0.5 * std::log(2 * kPi * p.a) + log_total;
}

// log P, or log Q if `kUpper`, of positive finite numbers; by the other tail where that is smaller.
template <bool kUpper>
double log_value(Parameter& p, double x) {
  switch (way_of(p.a, x)) {
    case Way::kUniform: {
      const double own = value<kUpper>(p, x);
      if (own > 0.5) return std::log1p(-value<!kUpper>(p, x));
      return own > kRemote ? std::log(own) : log_of_remote_tail<kUpper>(p, x);
    }
    case Way::kFraction: {  // Q < ½.
      const double log_above =
          log_leading_factor(p, x) + std::log(p.a * fraction(p.a, x, p.precision));
      return kUpper ? log_above : std::log1p(-std::exp(log_above));
    }
    default: {
      const double log_below = log_leading_factor(p, x) + std::log(series(p.a, x, p.precision));
      if (log_below >= -kLogOfTwo && is_small(p.a, x)) {
        const double above = tail_of_small(p, x);
        return kUpper ? std::log(above) : std::log1p(-above);
      }
      return kUpper ? std::log1p(-std::exp(log_below)) : log_below;
    }
  }
}

// ∂ log x / ∂a at constant P(a, x), of positive finite numbers.
inline double slope_of_log_sample(Parameter& p, double x) {
  const double a = p.a;
  switch (way_of(a, x)) {
    case Way::kUniform: {
      const double distance = (x - a) / a, eta = eta_of(distance).value;
      p.expand();
      double sum = 0, by_eta = 0, by_inverse = 0;
      for (int i = kMostPowers - 1; i >= 0; --i) {
        by_eta = by_eta * eta + sum;
        sum = sum * eta + p.temme[i];
        by_inverse = by_inverse * eta + p.by_inverse[i];
      }
      const double ratio = eta == 0 ? 1 : distance / eta, by_a = -by_inverse / a / a;
      const double slope = ratio - 0.5 * eta + (std::log1p(distance) - 0.5 / a) * sum;
      return (slope - by_eta * ratio / a + by_a) / a * std::exp(log_scaled_gamma(a));
    }
    case Way::kFraction: {
      const Sum f = sloped_fraction(a, x, p.precision);
      return (std::log(x) - p.digamma) * f.value + f.slope;
    }
    default: {
      const Sum s = sloped_series(a, x, p.precision);
      return ((p.digamma_of_next - std::log(x)) * s.value - s.slope) / a;
    }
  }
}

// Both are positive and finite.
inline bool are_regular(double a, double x) {
  return a > 0 && x > 0 && a < kInfinity && x < kInfinity;
}

// a ≥ 0, x ≥ 0, and not both 0 or both ∞; false for NaN.
inline bool are_defined(double a, double x) {
  return a >= 0 && x >= 0 && (a > 0 || x > 0) && (a < kInfinity || x < kInfinity);
}

// The functions: of positive finite numbers, and their limits elsewhere.
struct Lower {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return value<false>(p, x); }
  static double limit(double a, double x) {
    return !are_defined(a, x) ? kNan : x == 0 || a == kInfinity ? 0 : 1;
  }
};

struct Upper {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return value<true>(p, x); }
  static double limit(double a, double x) { return 1 - Lower::limit(a, x); }
};

struct LogOfLower {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return log_value<false>(p, x) + 0.0; }  // No −0.
  static double limit(double a, double x) { return std::log(Lower::limit(a, x)); }
};

struct LogOfUpper {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return log_value<true>(p, x) + 0.0; }
  static double limit(double a, double x) { return std::log(Upper::limit(a, x)); }
};

// x^(a−1) e⁻ˣ / Γ(a), the slope of P.
struct Density {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) {
    const double a = p.a;
    if (a >= kStartOfStirling) return leading_factor(p, x) / x * a;
    const double bounded = std::min(x, 1e4);
    if (p.precision > 1e-9)
      return a * std::exp((a - 1) * std::log(bounded) - bounded - p.log_gamma);
    const double half = std::exp(-0.5 * bounded);
    return std::pow(bounded, a - 1) * half * (a * p.factor) * half;
  }
  static double limit(double a, double x) {
    if (a == 0 && x == 0) return kInfinity;
    if (!are_defined(a, x)) return kNan;
    return x > 0 || a > 1 ? 0 : a == 1 ? 1 : kInfinity;
  }
};

struct SlopeOfLower {
  static constexpr bool kIsSloped = true;
  // In this order nothing leaves the range for a tiny a.
  static double of(Parameter& p, double x) {
    return -leading_factor(p, x) * (p.a * slope_of_log_sample(p, x));
  }
  static double limit(double a, double x) { return are_defined(a, x) && a > 0 ? 0 : kNan; }
};

struct SlopeOfSample {
  static constexpr bool kIsSloped = true;
  static double of(Parameter& p, double x) { return x * slope_of_log_sample(p, x); }
  static double limit(double a, double x) { return x == 0 && a > 0 && a < kInfinity ? 0 : kNan; }
};

}  // namespace morphax::incomplete_gamma
