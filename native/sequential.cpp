// Loops over few numbers whose steps wait for one another: polynomials from their zeros, their
// values and quotients, updates of Cholesky factors.  NumPy takes several calls for each step.
//
// Results are written into arrays of the caller's.
#include "sequential.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elementary.h"
#include "kernels.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::sequential {

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Changed = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using ChangedMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// As NumPy multiplies: the C library's product looks for infinities.
template <typename T>
inline T product(T x, T y) {
  return x * y;
}
template <typename T>
inline std::complex<T> product(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// The coefficients of Π (x − zₖ): each factor takes from a coefficient that of the next higher
// power, times the zero.
template <typename T>
void from_zeros(Vector<T> zeros, Changed<T> out) {
  const std::size_t count = zeros.shape(0);
  if (out.shape(0) != count + 1) throw nb::value_error("from_zeros: arrays of other sizes");
  T* p = out.data();
  p[0] = 1;
  for (std::size_t j = 1; j <= count; ++j) p[j] = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const T zero = zeros.data()[k];
    // All of them: what is 0 yet becomes NaN by a zero that is not finite.
    for (std::size_t j = count; j > 0; --j) p[j] -= product(p[j - 1], zero);
    p[0] -= product(T(0), zero);
  }
}

// u = q v + r: `rest` is u and becomes r, after as many zeros as `quotient` has coefficients.
template <typename T>
void divided(Vector<T> divisor, Changed<T> quotient, Changed<T> rest) {
  const std::size_t steps = quotient.shape(0), length = divisor.shape(0);
  if (length == 0 || rest.shape(0) + 1 != steps + length)
    throw nb::value_error("divided: arrays of other sizes");
  const T* v = divisor.data();
  for (std::size_t i = 0; i < steps; ++i) {
    T* window = rest.data() + i;
    const T factor = window[0] / v[0];
    quotient.data()[i] = factor;
    for (std::size_t j = 1; j < length; ++j) window[j] -= product(factor, v[j]);
    window[0] = 0;
  }
}

// Four more powers of polynomials, each product and sum rounded, as numbers in registers.
template <typename T>
MORPHAX_INLINE void add_powers(const T* p, const T* x, std::int64_t count, T* totals) {
  const T a = p[0], b = p[1], c = p[2], d = p[3];
  for (std::int64_t i = 0; i < count; ++i) {
    const T at = x[i];
    totals[i] = (((totals[i] * at + a) * at + b) * at + c) * at + d;
  }
}
// Compilers make several versions of plain functions only.
MORPHAX_VECTORIZED_INTEGERS
void add_powers_of(const float* p, const float* x, std::int64_t count, float* totals) {
  add_powers(p, x, count, totals);
}
MORPHAX_VECTORIZED_INTEGERS
void add_powers_of(const double* p, const double* x, std::int64_t count, double* totals) {
  add_powers(p, x, count, totals);
}

// p₀ xⁿ⁻¹ + … + pₙ₋₁ by Horner's rule from 0 on, so coefficients 0 in front change nothing.
template <typename T>
void polynomial(Vector<T> coefficients, Vector<T> x, Changed<T> out) {
  constexpr std::int64_t kBlock = 512;
  const std::size_t given = coefficients.shape(0), powers = (given + 3) / 4 * 4;
  if (x.shape(0) != out.shape(0)) throw nb::value_error("polynomial: arrays of other sizes");
  std::vector<T> p(powers, 0);
  std::copy_n(coefficients.data(), given, p.end() - static_cast<std::ptrdiff_t>(given));
  const T* from = x.data();
  T* to = out.data();
  const auto size = static_cast<std::int64_t>(x.shape(0));
  const process_end::OthersRun others_run;
  in_parts(size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t block = std::min(kBlock, end - start);
      std::fill_n(to + start, block, T{0});
      for (std::size_t i = 0; i < powers; i += 4)
        add_powers_of(&p[i], from + start, block, to + start);
    }
  });
}

// Rotations take `w` into the rows of an upper triangle, for all rows in order.
template <typename T>
void cholesky_update(ChangedMatrix<T> rows, Changed<T> w) {
  const std::size_t size = w.shape(0);
  if (rows.shape(0) != size || rows.shape(1) != size)
    throw nb::value_error("cholesky_update: arrays of other sizes");
  T* other = w.data();
  for (std::size_t k = 0; k < size; ++k) {
    if (other[k] == 0) continue;
    T* row = rows.data() + k * size;
    const T length = std::hypot(row[k], other[k]), c = row[k] / length, s = other[k] / length;
    for (std::size_t j = k; j < size; ++j) {
      const T x = row[j], y = other[j];
      row[j] = c * x + s * y;
      other[j] = c * y - s * x;
    }
  }
}

template <typename T>
void bind_polynomials(nb::module_& module) {
  module.def("from_zeros", &from_zeros<T>, nb::arg().noconvert(), nb::arg().noconvert());
  module.def("divided", &divided<T>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert());
}

template <typename T>
void bind_real(nb::module_& module) {
  module.def("polynomial", &polynomial<T>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert());
  module.def("cholesky_update", &cholesky_update<T>, nb::arg().noconvert(), nb::arg().noconvert());
}

}  // namespace

void bind(nb::module_& module) {
  bind_polynomials<float>(module);
  bind_polynomials<double>(module);
  bind_polynomials<std::complex<float>>(module);
  bind_polynomials<std::complex<double>>(module);
  bind_real<float>(module);
  bind_real<double>(module);
}

}  // namespace morphax::sequential
