// Elementary functions in single precision, with the roundings of compiled programs.
//
// The twin of the inverse error function is `morphax/lax/elementwise/inverse_erf.py`.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace morphax::elementary {

using f32 = float;
using i32 = std::int32_t;
using u32 = std::uint32_t;

template <typename To, typename From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "only the reading of the bits changes");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// What a loop calls is compiled as part of each of its versions.
#define MORPHAX_INLINE [[gnu::always_inline]] inline

// Horner's rule with one rounding per step, as compiled programs have it; a loop in the loop would
// not vectorise.
template <std::size_t size, std::size_t... i>
MORPHAX_INLINE f32 horner(const f32 (&coefficients)[size], f32 x, std::index_sequence<i...>) {
  f32 value = coefficients[0];
  ((value = __builtin_fmaf(value, x, coefficients[i + 1])), ...);
  return value;
}
template <std::size_t size>
MORPHAX_INLINE f32 polynomial(const f32 (&coefficients)[size], f32 x) {
  return horner(coefficients, x, std::make_index_sequence<size - 1>());
}

// x³ P(x) / Q(x) is what log(1 + x) has beyond x − x²/2, for -0.4142 < x < 0.4142.
constexpr f32 kLog1pNearZero = 0.41421356237309504880f;
constexpr f32 kLog1pNumerator[] = {4.5270000862445199635215e-5f, 4.9854102823193375972212e-1f,
                                   6.5787325942061044846969f,    2.9911919328553073277375e1f,
                                   6.0949667980987787057556e1f,  5.7112963590585538103336e1f,
                                   2.0039553499201281259648e1f};
constexpr f32 kLog1pDenominator[] = {1,
                                     1.5062909083469192043167e1f,
                                     8.3047565967967209469434e1f,
                                     2.2176239823732856465394e2f,
                                     3.0909872225312059774938e2f,
                                     2.1642788614495947685003e2f,
                                     6.0118660497603843919306e1f};

// log(1 + x) for -0.4142 < x < 0.4142.
MORPHAX_INLINE f32 log1p_near_zero(f32 x) {
  const f32 square = x * x;
  const f32 ratio = polynomial(kLog1pNumerator, x) / polynomial(kLog1pDenominator, x);
  return x + __builtin_fmaf(-0.5f, square, x * square * ratio);
}

// log x; subnormal numbers count as the least normal one, and negative ones give NaN.
//
// The polynomial is taken in three parts, whose steps do not wait for each other.  Reference: S. L.
// Moshier, Cephes mathematical library, `logf`.
MORPHAX_INLINE f32 logarithm(f32 x) {
  constexpr f32 kFirst[] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f},
                kSecond[] = {-1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f},
                kThird[] = {2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  constexpr f32 kLeastNormal = std::numeric_limits<f32>::min();
  constexpr i32 kRootOfHalf = 0x3f3504f3;
  const i32 bits = bits_as<i32>(x < kLeastNormal ? kLeastNormal : x);
  const i32 exponent = (bits - kRootOfHalf) >> 23;
  const f32 e = static_cast<f32>(exponent);
  const f32 m = bits_as<f32>(bits_as<u32>(bits) - (bits_as<u32>(exponent) << 23)) - 1;
  const f32 square = m * m, cube = square * m;
  const f32 second = __builtin_fmaf(polynomial(kFirst, m), cube, polynomial(kSecond, m));
  const f32 value = __builtin_fmaf(second, cube, polynomial(kThird, m));
  const f32 rest = __builtin_fmaf(value, cube, -2.12194440e-4f * e);
  const f32 sum = __builtin_fmaf(-0.5f, square, m) + rest;
  const f32 result = x == kInfinity ? x : __builtin_fmaf(0.693359375f, e, sum);
  return x > 0 ? result : x == 0 ? -kInfinity : std::numeric_limits<f32>::quiet_NaN();
}

MORPHAX_INLINE f32 inverse_erf(f32 x) {
  constexpr f32 kCentre[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                             -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                             -0.00417768164f,  0.246640727f,    1.50140941f};
  constexpr f32 kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                           -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                           0.00943887047f,   1.00167406f,     2.83297682f};
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  const f32 square = x * x;
  // Both are computed, and one is kept: a jump would not vectorise.
  const f32 near_zero = log1p_near_zero(-square), far = logarithm(1 - square);
  const f32 w = -(square < kLog1pNearZero ? near_zero : far);
  const f32 centre = polynomial(kCentre, w - 2.5f);
  const f32 tail = polynomial(kTail, __builtin_sqrtf(w) - 3);
  const f32 value = (w == kInfinity ? kInfinity : w < 5 ? centre : tail) * x;
  return x != x ? x : square > 1 ? std::numeric_limits<f32>::quiet_NaN() : value;
}

// 2/√π ∫₀ˣ exp(−s²) ds: x P(x²) / Q(x²) in double precision, 7·10⁻¹² exact up to `kOne`, from where
// on it is 1.  The coefficients were fitted by weighted least squares (Lawson's way to the least
// maximum).  The twin is `morphax/lax/elementwise/special.py`.
MORPHAX_INLINE f32 error_function(f32 x) {
  constexpr double kOne = 3.95;
  constexpr double kP[] = {3.0666887007443569e-9, 7.506987398110698e-7,  2.1235384359127947e-5,
                           5.077600096870992e-4,  4.8759426387525968e-3, 5.783446991209568e-2,
                           1.9846894333505922e-1, 1.128379167088231};
  constexpr double kQ[] = {
      7.4050607031153935e-8, 4.4379451348781912e-6, 1.0965981524610709e-4, 1.6919389447471635e-3,
      1.7540215054388706e-2, 1.2099508556922484e-1, 5.0922185444170934e-1, 1.0};
  const double z = x < -kOne ? -kOne : x > kOne ? kOne : x;
  const double square = z * z;
  double p = kP[0], q = kQ[0];
  for (int i = 1; i < 8; ++i) p = p * square + kP[i], q = q * square + kQ[i];
  return static_cast<f32>(z * (p / q));
}

// log(1 + x) for x >= -1.
MORPHAX_INLINE f32 log1p(f32 x) {
  return __builtin_fabsf(x) < kLog1pNearZero ? log1p_near_zero(x) : logarithm(1 + x);
}

// log Γ(x) for finite x >= 0.5, by Lanczos' series with g = 7 and nine terms.  Reference: C.
// Lanczos, "A precision approximation of the gamma function", SIAM J. Numer. Anal. B 1, 1964.
MORPHAX_INLINE f32 log_gamma_above_half(f32 x) {
  constexpr f32 kSeries[] = {676.520386f, -1259.13916f,  771.323425f,     -176.615036f,
                             12.5073433f, -0.138571098f, 9.98436917e-06f, 1.50563267e-07f};
  constexpr f32 kLogOfShift = 2.01490307f, kHalfLogOfTwoPi = 0.918938518f;
  const f32 z = x - 1;
  f32 sum = 1;
  for (int i = 0; i < 8; ++i) sum += kSeries[i] / (z + static_cast<f32>(i + 1));
  const f32 log1p_of_shifted = log1p(z * 0.13333334f);
  const f32 log_of_shifted = log1p_of_shifted + kLogOfShift;
  const f32 exponent = z + 0.5f - (z + 7.5f) / log_of_shifted;
  return __builtin_fmaf(exponent, log_of_shifted, kHalfLogOfTwoPi) + logarithm(sum);
}

}  // namespace morphax::elementary
