// log |Γ(x)| in double precision, with all digits next to its zeros: the compiled form of
// `morphax/lax/ground/log_gamma.py` for positive numbers; others are the C library's.
#include "log_gamma.h"

#include <cmath>
#include <cstdint>

#include "kernels.h"
#include "wide_elementary.h"

namespace morphax::log_gamma {

namespace {

using wide::polynomial;

MORPHAX_INLINE bool is_regular(double x) { return (x > 1e-300) & (x < 1e300); }

MORPHAX_INLINE double regular_log_gamma(double x) {
  // log Γ(x) / ((x − 1) (x − 2)) in 2x − 3.
  constexpr double kBetweenZeros[] = {
      1.1273354955165048e-11,  -3.533898162275879e-11, 5.18198984494436e-11,
      -1.6393816009998903e-10, 6.533268528434416e-10,  -2.0732827842398214e-09,
      6.434152357291201e-09,   -2.057761163373013e-08, 6.623601939725099e-08,
      -2.138843561161159e-07,  6.948440187550096e-07,  -2.274240971132041e-06,
      7.5113915317296576e-06,  -2.509432984849446e-05, 8.510090378468051e-05,
      -0.0002945507014009265,  0.0010498186644508718,  -0.003913560937631659,
      0.01572785026864121,     -0.07297994795715297,   0.4831289505409809};
  const bool is_large = x >= 4, is_small = x < 1;
  const double below = __builtin_floor(is_large ? 1 : x), past = is_large ? 0.5 : x - below;
  const double near = past * (past - 1) * polynomial(kBetweenZeros, 2 * past - 1);
  // The factors by which Γ differs from that on [1, 2].
  const double factor = below >= 3 ? (x - 1) * (x - 2) : below >= 2 ? x - 1 : 1;
  const double log = wide::precise_logarithm(is_small | is_large ? x : factor);
  const double far = (x - 0.5) * log - x + polynomial(kAboveOne, 2 / (is_large ? x : 4) - 1);
  return is_large ? far : is_small ? near - log : near + log;
}

double any_log_gamma(double x) {
  if (std::abs(x) == wide::kInfinity) return wide::kInfinity;
  int sign;  // which the C library's `lgamma` writes into a variable of all threads
  return lgamma_r(x, &sign);
}

// Whether there were no others than regular numbers.
MORPHAX_VECTORIZED
bool regular_values(std::size_t count, const double* xs, double* results) {
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    results[i] = regular_log_gamma(xs[i]);
    others |= !is_regular(xs[i]);
  }
  return others == 0;
}

}  // namespace

void wide_lgamma(std::size_t count, const void* x, const void*, const void*, void* out) {
  const auto* xs = static_cast<const double*>(x);
  auto* results = static_cast<double*>(out);
  if (regular_values(count, xs, results)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_regular(xs[i])) results[i] = any_log_gamma(xs[i]);
  }
}

}  // namespace morphax::log_gamma
