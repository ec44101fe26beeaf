// Circular and hyperbolic functions and angles in double precision, which vectorise.
//
// The polynomials were fitted by weighted least squares (Lawson's way to the least maximum), to 14
// digits and more.
//
// Reference: J.-M. Muller, Elementary Functions, 3rd ed. (2016), section 11.2 (reduction).
#pragma once

#include <cstdint>

#include "elementary.h"
#include "wide_elementary.h"

namespace morphax::wide {

// A complex number, or two values that come together.
struct Pair {
  double first, second;
};

// Up to here an angle leaves the sum of three parts of π/2 with all digits: the number of quarters
// has 17 bits, and two parts have 33.
constexpr double kLargestAngle = 1e5;

// sin x and cos x for |x| <= `kLargestAngle`.
MORPHAX_INLINE Pair sine_and_cosine(double x) {
  constexpr double kSine[] = {-2.476165176624732e-08, 2.7555357785871926e-06,
                              -0.00019841263823448108, 0.008333333325273662, -0.1666666666663162};
  constexpr double kCosine[] = {2.0647659226784763e-09, -2.7555565870813584e-07,
                                2.4801580964737752e-05, -0.0013888888878258849,
                                0.041666666666602105};
  constexpr double kQuarters = 0.63661977236758134308, kHigh = 0x1.921fb544p+0,
                   kMiddle = 0x1.0b4611a6p-34, kLow = 0x1.3198a2e037073p-69;
  const double shifted = x * kQuarters + kShift, n = shifted - kShift;
  const double r = ((x - n * kHigh) - n * kMiddle) - n * kLow;
  const double square = r * r;
  const double sine = r * (1 + square * polynomial(kSine, square));  // −0 stays −0
  const double cosine = 1 - 0.5 * square + square * square * polynomial(kCosine, square);
  // The signs change with each half turn.
  const auto quarter = bits_as<std::uint64_t>(shifted);
  const bool is_turned = (quarter & 1) != 0;
  const auto of_sine = bits_as<std::uint64_t>(is_turned ? cosine : sine);
  const auto of_cosine = bits_as<std::uint64_t>(is_turned ? sine : cosine);
  return {bits_as<double>(of_sine ^ (quarter & 2) << 62),
          bits_as<double>(of_cosine ^ ((quarter + 1) & 2) << 62)};
}

// Up to here their exponentials are in the range of double precision.
constexpr double kLargestHeight = 700;

// sinh x and cosh x for |x| <= `kLargestHeight`.
MORPHAX_INLINE Pair hyperbolic_sine_and_cosine(double x) {
  constexpr double kSine[] = {1.6322412477954518e-10, 2.5048575239213597e-08, 2.755734256494057e-06,
                              0.00019841269763095785, 0.00833333333345415,    0.1666666666666605};
  const double power = exponential(x), inverse = 1 / power, square = x * x;
  const double near = x + x * square * polynomial(kSine, square);
  return {square < 1 ? near : 0.5 * (power - inverse), 0.5 * (power + inverse)};
}

// The angle of (x, y), from −π to π; of zeros it is that of their signs.
MORPHAX_INLINE double angle(double x, double y) {
  constexpr double kSeries[] = {0.03073948460009262,  -0.058798004496036435, 0.07565182162506356,
                                -0.09078607148613954, 0.111104023854127,     -0.14285691183523627,
                                0.19999999621260173,  -0.3333333333093827,   0.9999999999999759};
  constexpr double kPi = 3.14159265358979323846, kTangent = 0.41421356237309504880;  // of π/8
  const double width = __builtin_fabs(x), height = __builtin_fabs(y);
  const bool is_steep = height > width;
  const double low = is_steep ? width : height, high = is_steep ? height : width;
  // From π/8 on it is taken from π/4.
  const bool is_far = low > kTangent * high;
  const double rise = is_far ? low - high : low, run = is_far ? low + high : high;
  const double t = rise / (run > 0 ? run : 1);
  const double within = t * polynomial(kSeries, t * t) + (is_far ? kPi / 4 : 0);
  const double first = is_steep ? kPi / 2 - within : within;
  return __builtin_copysign(__builtin_copysign(1, x) < 0 ? kPi - first : first, y);
}

}  // namespace morphax::wide
