// erf of float64, in vectors; its twin is SciPy's.
//
// On [0, 1] it is x times a polynomial of x², beyond 1 − e^(−x²) times one of (x − 3) / (x + 3),
// from Chebyshev series cut at 10⁻¹⁷.  From 6 on it is 1.  Off by 1.4 units in the last place at
// most.
#include "error_function.h"

#include <cmath>
#include <cstdint>

#include "elementary.h"
#include "kernels.h"
#include "wide_elementary.h"

namespace morphax::error_function {

namespace {

using elementary::bits_as;
using wide::polynomial;

// eˣ for −36 ≤ x ≤ 0, with all digits.
MORPHAX_INLINE double exponential(double x) {
  constexpr double kTaylor[] = {1 / 6227020800.,
                                1 / 479001600.,
                                1 / 39916800.,
                                1 / 3628800.,
                                1 / 362880.,
                                1 / 40320.,
                                1 / 5040.,
                                1 / 720.,
                                1 / 120.,
                                1 / 24.,
                                1 / 6.,
                                1 / 2.,
                                1.,
                                1.};
  constexpr double kPerLog2 = 1.4426950408889634, kHigh = 0.693147180369123816490,
                   kLow = 1.90821492927058770002e-10;
  const double shifted = x * kPerLog2 + wide::kShift, n = shifted - wide::kShift;
  const double rest = (x - n * kHigh) - n * kLow;
  const auto scale =
      bits_as<double>((bits_as<std::uint64_t>(shifted) << 52) + bits_as<std::uint64_t>(1.0));
  return polynomial(kTaylor, rest) * scale;
}

MORPHAX_INLINE double erf_of(double x) {
  constexpr double kEnd = 6;
  constexpr double kNear[] = {
      -4.2320376764874594e-12, 8.709755232851789e-11,   -1.2164764337224506e-09,
      1.479243542696247e-08,   -1.6364645854816389e-07, 1.6462045711013026e-06,
      -1.4925647581008593e-05, 0.00012055332903350668,  -0.0008548327021945428,
      0.005223977625423455,    -0.026866170645129854,   0.1128379167095512,
      -0.37612638903183754,    1.1283791670955126};
  constexpr double kFar[] = {
      -2.684086899069207e-09, -8.340713172055185e-09,  2.4152083237661988e-09,
      4.6765094463874006e-08, 2.78923319401148e-08,    -2.3456713438977536e-07,
      -2.937927982747164e-07, 1.2524421134464743e-06,  2.1199941283429106e-06,
      -7.978112652127412e-06, -1.2860497766186773e-05, 6.405655184253385e-05,
      4.5255298796412864e-05, -0.0005970619481871881,  0.0007077464388955686,
      0.0042691363328230345,  -0.024392499318670876,   0.07166583719797852,
      -0.15011593650077723,   0.24560380171233087,     -0.3262335600430372,
      0.17900115118138996};
  const double size = std::abs(x), bounded = size > kEnd ? kEnd : size;
  const double near = bounded * polynomial(kNear, bounded * bounded);
  const double tail = polynomial(kFar, (bounded - 3) / (bounded + 3));
  const double far = 1 - exponential(-bounded * bounded) * tail;
  return std::copysign(size <= 1 ? near : far, x);
}

}  // namespace

MORPHAX_VECTORIZED
void wide_erf(std::size_t count, const void* x, const void*, const void*, void* out) {
  const auto* numbers = static_cast<const double*>(x);
  auto* results = static_cast<double*>(out);
  for (std::size_t i = 0; i < count; ++i) results[i] = erf_of(numbers[i]);
}

}  // namespace morphax::error_function
