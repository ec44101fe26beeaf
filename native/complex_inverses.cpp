// Inverses of circular and hyperbolic functions of complex64, whose twins are NumPy's.
//
// With r = |z + 1|, s = |z − 1| and a = (r + s) / 2, and x and y the sizes of the parts,
//
//     asin z = atan(x / √(a² − x²)) + i log(a + √(a² − 1))
//
// where a − x and a − 1 are sums of positive terms, so that no digits are lost: r − (x + 1) is
// y² / (r + (x + 1)), and of s − |x − 1| likewise.  In double precision the squares of numbers of
// single precision are in the range.  The others follow from it, and from
//
//     atanh z = ¼ log(1 + 4 x / ((1 − x)² + y²)) + ½ i arg(1 − x² − y² + 2 i y)
//
// Branch cuts are as in compiled programs: see `lax/elementwise/complex.py`.
//
// Reference: T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, "Implementing the complex arcsine and
// arccosine functions using exception handling", ACM Trans. Math. Softw. 23 (1997).
#include <cmath>

#include "complex_functions.h"
#include "complex_loops.h"

namespace morphax::complex_functions {

namespace {

using wide::angle;

MORPHAX_INLINE double log_plus_one(double x) { return wide::logarithm(1 + x, x); }

// √(a² − x²), and log(a + √(a² − 1)).
MORPHAX_INLINE Pair root_and_height(double x, double y) {
  const double width = __builtin_fabs(x), square = y * y;
  const double far = width + 1, near = width - 1, distance = __builtin_fabs(near);
  const double r = __builtin_sqrt(far * far + square), s = __builtin_sqrt(near * near + square);
  // Of zeros their sum is 0, too.
  const double sum = s + distance, rest = sum > 0 ? square / sum : 0;
  const double above = square / (r + far);
  const double a = 0.5 * (r + s);
  const double less_width = 0.5 * (above + (near <= 0 ? sum : rest));
  const double less_one = 0.5 * (above + (near <= 0 ? rest : sum));
  return {__builtin_sqrt(less_width * (a + width)),
          log_plus_one(less_one + __builtin_sqrt(less_one * (a + 1)))};
}

MORPHAX_INLINE Pair arcsine(double x, double y) {
  const Pair found = root_and_height(x, y);
  return {angle(found.first, x), __builtin_copysign(found.second, y)};
}
MORPHAX_INLINE Pair arcsine_above(double x, double y) { return arcsine(x, y + 0.0); }
Complex asin_of(Complex z) { return std::asin(Complex(z.real(), z.imag() + 0.0)); }

MORPHAX_INLINE Pair arccosine_above(double x, double y) {
  const Pair found = root_and_height(x, y);
  return {angle(x, found.first), -__builtin_copysign(found.second, y + 0.0)};
}
Complex acos_of(Complex z) { return std::acos(Complex(z.real(), z.imag() + 0.0)); }

MORPHAX_INLINE Pair hyperbolic_arcsine(double x, double y) {
  const Pair turned = arcsine(-y, x + 0.0);
  return {turned.second, -turned.first};
}
Complex asinh_of(Complex z) { return std::asinh(Complex(z.real() + 0.0, z.imag())); }

MORPHAX_INLINE Pair hyperbolic_arccosine(double x, double y) {
  const Pair found = root_and_height(x, y);
  return {found.second, __builtin_copysign(angle(x, found.first), y + 0.0)};
}
Complex acosh_of(Complex z) { return std::acosh(Complex(z.real(), z.imag() + 0.0)); }

MORPHAX_INLINE Pair hyperbolic_arctangent(double x, double y) {
  const double width = __builtin_fabs(x), less = 1 - width;
  const double square = less * less + y * y;
  const double height = 0.25 * log_plus_one(4 * width / (square > 0 ? square : 1));
  return {__builtin_copysign(height, x), 0.5 * angle(less * (1 + width) - y * y, 2 * y)};
}
// Whether a number is finite and no pole.
MORPHAX_INLINE bool has_arctangent(double x, double y) {
  return are_finite(x, y) & ((__builtin_fabs(x) != 1) | (y != 0));
}
Complex atanh_of(Complex z) { return std::atanh(z); }

MORPHAX_INLINE Pair arctangent(double x, double y) {
  const Pair turned = hyperbolic_arctangent(-y, x);
  return {turned.second, -turned.first};
}
MORPHAX_INLINE bool has_turned_arctangent(double x, double y) { return has_arctangent(y, x); }
Complex atan_of(Complex z) { return std::atan(z); }

}  // namespace

MORPHAX_OF_COMPLEX(asin, arcsine_above, are_finite)
MORPHAX_OF_COMPLEX(acos, arccosine_above, are_finite)
MORPHAX_OF_COMPLEX(atan, arctangent, has_turned_arctangent)
MORPHAX_OF_COMPLEX(asinh, hyperbolic_arcsine, are_finite)
MORPHAX_OF_COMPLEX(acosh, hyperbolic_arccosine, are_finite)
MORPHAX_OF_COMPLEX(atanh, hyperbolic_arctangent, has_arctangent)

}  // namespace morphax::complex_functions
