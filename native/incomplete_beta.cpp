// The regularised incomplete beta function of float32, computed in double precision and rounded
// once, where its parameters are neither very small nor very large; its twin is SciPy's.
//
// Below the mean of the distribution the continued fraction of DLMF 8.17.22 is summed by Lentz's
// way; above it I_x(a, b) = 1 − I_{1−x}(b, a).
//
// References: DLMF, 8.17.  Thompson & Barnett, "Coulomb and Bessel functions of complex arguments
// and order", Journal of Computational Physics 64 (1986), for the algorithm.
#include "incomplete_beta.h"

#include <nanobind/ndarray.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include "process_end.h"
#include "workers.h"

namespace morphax::incomplete_beta {

namespace nb = nanobind;

namespace {

constexpr double kLeast = 0.01, kMost = 1000, kPrecision = 1e-15;
constexpr int kMostSteps = 1000;

double log_gamma(double x) {
  int sign;  // which the C library's `lgamma` writes into a variable of all threads
  return lgamma_r(x, &sign);
}

bool is_regular(double a, double b, double x) {
  return a >= kLeast && a <= kMost && b >= kLeast && b <= kMost && x > 0 && x < 1;
}

// 1 / (1 + d₁/(1 + d₂/(1 + …))) with d₂ₘ = m (b−m) x / ((a+2m−1) (a+2m)) and
// d₂ₘ₊₁ = −(a+m) (a+b+m) x / ((a+2m) (a+2m+1)).
double fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto nonzero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    const double last = a + 2 * m;
    const double even = m * (b - m) * x / ((last - 1) * last);
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    value *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / (last * (last + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    const double factor = c * d;
    value *= factor;
    if (std::abs(factor - 1) < kPrecision) break;
  }
  return value;
}

// Given y = 1 − x, and both logarithms.
double below_mean(double a, double b, double x, double log_x, double log_y, double log_beta) {
  return std::exp(a * log_x + b * log_y - log_beta) * fraction(a, b, x) / a;
}

double value_of(double a, double b, double x) {
  const double log_x = std::log(x), log_y = std::log1p(-x);
  const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  if (x * (a + b + 2) < a + 1) return below_mean(a, b, x, log_x, log_y, log_beta);
  return 1 - below_mean(b, a, 1 - x, log_y, log_x, log_beta);
}

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Results = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Writes the values of regular numbers, NaN for others; whether there are no others.
bool regular_values(Floats a, Floats b, Floats x, Results out) {
  const std::size_t count = out.size();
  if (a.size() != count || b.size() != count || x.size() != count)
    throw nb::value_error("numbers of other counts");
  std::atomic<bool> all_regular{true};
  const process_end::OthersRun others_run;
  in_pieces(static_cast<std::int64_t>(count), 256 * static_cast<std::int64_t>(count),
            [&](std::int64_t first, std::int64_t last) {
              for (std::int64_t i = first; i < last; ++i) {
                if (is_regular(a.data()[i], b.data()[i], x.data()[i])) {
                  out.data()[i] =
                      static_cast<float>(value_of(a.data()[i], b.data()[i], x.data()[i]));
                } else {
                  out.data()[i] = std::numeric_limits<float>::quiet_NaN();
                  all_regular = false;
                }
              }
            });
  return all_regular;
}

}  // namespace

void bind(nb::module_& module) {
  module.def("regular_values", &regular_values, nb::arg("a"), nb::arg("b"), nb::arg("x"),
             nb::arg("out"),
             "Write I_x(a, b) where the numbers are regular, else NaN; whether all of them are.");
}

}  // namespace morphax::incomplete_beta
