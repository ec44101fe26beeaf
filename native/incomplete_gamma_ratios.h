// The density x^(a−1) e⁻ˣ / Γ(a) over P or Q, of one element: how the logarithms of the tails move.
//
// Where a tail is the density times a series or a fraction, it is one over these, whatever is left
// of both; see `density_over_tail` in `morphax/lax/elementwise/incomplete_gamma_formulas.py`.
#pragma once

#include <cmath>

#include "incomplete_gamma_formulas.h"

namespace morphax::incomplete_gamma {

// Of positive finite numbers.
template <bool kUpper>
double density_over_tail(Parameter& p, double x) {
  switch (way_of(p.a, x)) {
    case Way::kUniform: {
      const double own = value<kUpper>(p, x);
      if (own > kRemote) break;
      const Eta eta = eta_of((x - p.a) / p.a);
      return p.a / x * std::exp(-log_scaled_gamma(p.a)) / remote_total<kUpper>(p, eta);
    }
    case Way::kFraction:
      if (kUpper) return 1 / (x * fraction(p.a, x, p.precision));
      break;
    default:
      if (!kUpper) return p.a / (x * series(p.a, x, p.precision));
  }
  return Density::of(p, x) / value<kUpper>(p, x);
}

struct OverLower {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return density_over_tail<false>(p, x); }
  static double limit(double a, double x) {
    if (!are_defined(a, x) || a == 0) return kNan;
    return x == 0 || a == kInfinity ? kInfinity : 0;
  }
};

struct OverUpper {
  static constexpr bool kIsSloped = false;
  static double of(Parameter& p, double x) { return density_over_tail<true>(p, x); }
  static double limit(double a, double x) {
    if (!are_defined(a, x) || a == 0) return kNan;
    return x == kInfinity ? 1 : Density::limit(a, x);
  }
};

}  // namespace morphax::incomplete_gamma
