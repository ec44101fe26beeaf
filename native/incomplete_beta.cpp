// The regularised incomplete beta function of float32 and the logarithms of its tails, computed in
// double precision and rounded once, where its parameters are neither very small nor very large;
// their twins are SciPy's.
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

// A tail is factor · exp(exponent); whether it is the one above x.
struct Tail {
  double factor = 0, exponent = 0;
  bool is_upper = false;

  double value() const { return std::exp(exponent) * factor; }
  double log() const { return exponent + std::log(factor); }
  // log(1 − tail)
  double log_of_other() const {
    const double own = log();
    return own > -0.69 ? std::log(-std::expm1(own)) : std::log1p(-std::exp(own));
  }
};

// Parameters, and the logarithm of B(a, b), which is kept: neighbours mostly have the same.
struct Parameters {
  double a = 0, b = 0, log_beta = 0;

  void set(double new_a, double new_b) {
    if (new_a == a && new_b == b) return;
    a = new_a, b = new_b;
    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  }
};

// The tail that is away from the mean, whose fraction converges quickly.
Tail small_tail(const Parameters& p, double x) {
  const double a = p.a, b = p.b, log_x = std::log(x), log_y = std::log1p(-x);
  const bool is_upper = x * (a + b + 2) >= a + 1;
  const double factor = is_upper ? fraction(b, a, 1 - x) / b : fraction(a, b, x) / a;
  return {factor, a * log_x + b * log_y - p.log_beta, is_upper};
}

double value_of(const Tail& tail) { return tail.is_upper ? 1 - tail.value() : tail.value(); }

double log_of_lower(const Tail& tail) { return tail.is_upper ? tail.log_of_other() : tail.log(); }

double log_of_upper(const Tail& tail) { return tail.is_upper ? tail.log() : tail.log_of_other(); }

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Results = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Writes the values of a function at regular numbers, NaN for others; whether there are no others.
template <double (*function)(const Tail&)>
bool regular(Floats a, Floats b, Floats x, Results out) {
  const std::size_t count = out.size();
  if (a.size() != count || b.size() != count || x.size() != count)
    throw nb::value_error("numbers of other counts");
  std::atomic<bool> all_regular{true};
  const process_end::OthersRun others_run;
  in_pieces(static_cast<std::int64_t>(count), 256 * static_cast<std::int64_t>(count),
            [&](std::int64_t first, std::int64_t last) {
              Parameters parameters;
              for (std::int64_t i = first; i < last; ++i) {
                if (is_regular(a.data()[i], b.data()[i], x.data()[i])) {
                  parameters.set(a.data()[i], b.data()[i]);
                  out.data()[i] = static_cast<float>(function(small_tail(parameters, x.data()[i])));
                } else {
                  out.data()[i] = std::numeric_limits<float>::quiet_NaN();
                  all_regular = false;
                }
              }
            });
  return all_regular;
}

template <double (*function)(const Tail&)>
void bind_function(nb::module_& module, const char* name, const char* doc) {
  module.def(name, &regular<function>, nb::arg("a"), nb::arg("b"), nb::arg("x"), nb::arg("out"),
             doc);
}

}  // namespace

void bind(nb::module_& module) {
  bind_function<value_of>(module, "regular_values",
                          "Write I_x(a, b) where the numbers are regular, else NaN; whether all of "
                          "them are.");
  bind_function<log_of_lower>(module, "regular_logs", "The same for log I_x(a, b).");
  bind_function<log_of_upper>(module, "regular_logs_of_complement",
                              "The same for log(1 − I_x(a, b)).");
}

}  // namespace morphax::incomplete_beta
