// The incomplete gamma functions of x < 1.1 and a < 30 for results in single precision, several
// elements at a time.
#pragma once

namespace morphax::incomplete_gamma {

// Elements that are computed together.
struct NearZero {
  static constexpr int kCount = 32;
  static constexpr double kEndOfA = 30, kEndOfX = 1.1;

  alignas(64) double a[kCount], x[kCount];
  // xᵃ / Γ(a+1) is the exponential of this.
  double exponent[kCount];
  // Σₙ xⁿ / ((a+1) … (a+n)).
  double series[kCount];
  // P, and Q with all its digits.
  double lower[kCount], upper[kCount];
  // a e⁻ˣ ∂ log x / ∂a at constant P.
  double slope[kCount];
  double result[kCount];

  // Whether an element is one of these; both numbers are positive.
  static bool has(double a, double x) { return a < kEndOfA && x < kEndOfX; }

  // What makes results of a and x.
  void compute_lower();
  void compute_upper();
  void compute_log_of_lower();
  void compute_log_of_upper();
  void compute_slope_of_lower();
  void compute_slope_of_sample();
};

}  // namespace morphax::incomplete_gamma
