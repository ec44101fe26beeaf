// The products of each number of one vector with each of another: a row for each number.
//
// To NumPy a row is an operation of its own, whose call takes as long as its products.  The twin is
// the program of `jnp.outer`.
#include "outer_products.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>

#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::outer_products {

namespace {

#define MORPHAX_ROW(T)                                                                        \
  MORPHAX_VECTORIZED_INTEGERS                                                                 \
  void row_of_products(T factor, const T* numbers, std::int64_t count, T* __restrict__ out) { \
    for (std::int64_t i = 0; i < count; ++i) out[i] = factor * numbers[i];                    \
  }

MORPHAX_ROW(float)
MORPHAX_ROW(double)
#undef MORPHAX_ROW

// So many products are written together, if rows are short: what is too much of a row the next one
// overwrites, so the last rows are not among these.
constexpr std::int64_t kTogether = 8, kShortRow = 64;

#define MORPHAX_SHORT_ROWS(T)                                                                      \
  MORPHAX_VECTORIZED_INTEGERS                                                                      \
  void rows_of_products(const T* factors, std::int64_t rows, const T* numbers, std::int64_t width, \
                        T* __restrict__ out) {                                                     \
    for (std::int64_t row = 0; row < rows; ++row, out += width) {                                  \
      const T factor = factors[row];                                                               \
      for (std::int64_t first = 0; first < width; first += kTogether) {                            \
        for (std::int64_t j = 0; j < kTogether; ++j) out[first + j] = factor * numbers[first + j]; \
      }                                                                                            \
    }                                                                                              \
  }

MORPHAX_SHORT_ROWS(float)
MORPHAX_SHORT_ROWS(double)
#undef MORPHAX_SHORT_ROWS

template <typename T>
nb::object products(PyArrayObject* a, PyArrayObject* b) {
  npy_intp shape[] = {PyArray_SIZE(a), PyArray_SIZE(b)};
  nb::object result = checked(PyArray_EMPTY(2, shape, PyArray_TYPE(a), 0));
  const auto* rows = static_cast<const T*>(PyArray_DATA(a));
  const auto* columns = static_cast<const T*>(PyArray_DATA(b));
  auto* out = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr())));
  const std::int64_t width = shape[1];
  T padded[kShortRow] = {};
  if (width <= kShortRow) std::copy_n(columns, width, padded);
  const process_end::OthersRun others_run;
  in_pieces(shape[0], shape[0] * width, [&](std::int64_t first, std::int64_t last) {
    if (width <= kShortRow && last - first > kTogether) {
      rows_of_products(rows + first, last - first - kTogether, padded, width, out + first * width);
      first = last - kTogether;
    }
    for (std::int64_t row = first; row < last; ++row)
      row_of_products(rows[row], columns, width, out + row * width);
  });
  return result;
}

// The products of the numbers of two arrays, both of float32 or of float64.
nb::object outer(nb::handle a, nb::handle b) {
  if (!PyArray_Check(a.ptr()) || !PyArray_Check(b.ptr()))
    throw nb::type_error("products of what are no arrays");
  const nb::object rows = checked(PyArray_FROM_OF(a.ptr(), NPY_ARRAY_CARRAY_RO));
  const nb::object columns = checked(PyArray_FROM_OF(b.ptr(), NPY_ARRAY_CARRAY_RO));
  auto* first = reinterpret_cast<PyArrayObject*>(rows.ptr());
  auto* second = reinterpret_cast<PyArrayObject*>(columns.ptr());
  const int type = PyArray_TYPE(first);
  if (type == PyArray_TYPE(second) && type == NPY_FLOAT32) return products<float>(first, second);
  if (type == PyArray_TYPE(second) && type == NPY_FLOAT64) return products<double>(first, second);
  throw nb::type_error("products of other dtypes");
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("outer", &outer, nb::arg("a"), nb::arg("b"),
             "Each number of one array times each of another.");
}

}  // namespace morphax::outer_products
