// erf⁻¹ x in double precision: the compiled form of `morphax/lax/ground/inverse_error.py`.
#include "inverse_erf.h"

#include <cmath>
#include <limits>

#include "kernels.h"
#include "wide_elementary.h"

namespace morphax::inverse_erf {

namespace {

using wide::polynomial;

// Where the first polynomial serves, which is nearly everywhere.
constexpr double kEndOfCentre = 0.999034;

MORPHAX_INLINE double central(double x) {
  constexpr double kCentre[] = {
      3.240704459379902e-21,   -1.113483769832702e-21, -3.4996044354754177e-19,
      1.150022252066253e-18,   1.557432024623325e-17,  -1.3016928016796445e-16,
      -4.0282154327661744e-17, 6.596407712420834e-15,  -4.001237735091896e-14,
      -8.118399443074353e-14,  2.6304834740560442e-12, -1.2976885526532075e-11,
      -5.414287198084716e-11,  1.0512181539804126e-09, -4.11266082002324e-09,
      -2.9070382262927266e-08, 4.234788173782339e-07,  -1.3654691850603575e-06,
      -1.3882523394405316e-05, 0.00018673420802464837, -0.000740702534154477,
      -0.00603367087142785,    0.2401581824255883,     1.6536545626831027};
  const double magnitude = std::abs(x), inner = magnitude < kEndOfCentre ? magnitude : 0;
  const double size = -wide::precise_logarithm((1 - inner) * (1 + inner));
  return polynomial(kCentre, size - 3.125) * x;
}

double remote(double x) {
  constexpr double kMiddle[] = {
      -3.831039946072411e-10, 9.071950571029922e-08,  -2.6860975725571463e-07,
      1.832399988132858e-08,  1.4958263152984917e-06, -4.013946398190292e-06,
      2.9273722115986924e-06, 1.2475343474376931e-05, -4.731952918337189e-05,
      6.828484052292924e-05,  2.4031363245440546e-05, -0.00035503751863069763,
      0.0009532893521118177,  -0.0016882755561681802, 0.0024914420976198813,
      -0.0037512085075638536, 0.0053709145535581985,  1.0052589676941592,
      3.0838856104922208};
  constexpr double kTail[] = {
      2.7520836691204922e-11,  -2.2467591693364952e-11, -3.7171553416167463e-10,
      1.4895546197648137e-09,  -3.5875995609819953e-09, 7.644335983557396e-09,
      -1.5146221782627176e-08, 2.9124399186491765e-08,  -6.761414811460412e-08,
      2.2901554497563463e-07,  -9.930119183482954e-07,  4.5260599477720725e-06,
      -1.968177348376382e-05,  7.599527735160192e-05,   -0.00021503011962944126,
      -0.00013871931835112341, 1.0103004648645413,      4.849906401408584};
  const double magnitude = std::abs(x);
  if (magnitude == 1) return x * wide::kInfinity;
  if (!(magnitude < 1)) return std::numeric_limits<double>::quiet_NaN();
  const double root = std::sqrt(-std::log((1 - magnitude) * (1 + magnitude)));
  return x * (root < 4 ? polynomial(kMiddle, root - 3.25) : polynomial(kTail, root - 5));
}

// A product and its sum are one operation where there is one.
MORPHAX_VECTORIZED_WIDE
void central_values(std::size_t count, const double* xs, double* results) {
  for (std::size_t i = 0; i < count; ++i) results[i] = central(xs[i]);
}

}  // namespace

void wide_erf_inv(std::size_t count, const void* x, const void*, const void*, void* out) {
  const auto* xs = static_cast<const double*>(x);
  auto* results = static_cast<double*>(out);
  central_values(count, xs, results);
  for (std::size_t i = 0; i < count; ++i) {
    if (!(std::abs(xs[i]) < kEndOfCentre)) results[i] = remote(xs[i]);
  }
}

}  // namespace morphax::inverse_erf
