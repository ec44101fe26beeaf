// The parts of matrices on one side of a diagonal, with zeros on the other.
//
// A row of such a part is copied, and the rest of it is never read.  The twin is the choice of
// `morphax/numpy/matrices.py`.
#include "triangles.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::triangles {

namespace {

// Column j of row i is below diagonal `k`, or on it, if j - i <= k.
nb::object triangle(nb::handle m, std::int64_t k, bool is_lower) {
  if (!PyArray_Check(m.ptr())) throw nb::type_error("a triangle of what is no array");
  const nb::object in_order = checked(PyArray_FROM_OF(m.ptr(), NPY_ARRAY_CARRAY_RO));
  auto* given = reinterpret_cast<PyArrayObject*>(in_order.ptr());
  const int ndim = PyArray_NDIM(given);
  if (ndim < 2 || PyDataType_REFCHK(PyArray_DESCR(given)))
    throw nb::value_error("a triangle of what is no matrix of numbers");
  PyArray_Descr* descr = PyArray_DESCR(given);
  Py_INCREF(descr);
  const nb::object result = checked(PyArray_Empty(ndim, PyArray_DIMS(given), descr, 0));
  const std::int64_t rows = PyArray_DIM(given, ndim - 2), columns = PyArray_DIM(given, ndim - 1);
  const std::int64_t elements = PyArray_SIZE(given), width = PyArray_ITEMSIZE(given);
  if (elements == 0) return result;
  const char* from = PyArray_BYTES(given);
  char* to = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::OthersRun others_run;
  in_pieces(elements / columns, elements, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t past = is_lower ? k + 1 : k;
      const std::int64_t split = std::clamp<std::int64_t>(row % rows + past, 0, columns);
      const std::int64_t start = row * columns * width, middle = start + split * width;
      const std::int64_t end = start + columns * width;
      const auto copied = [&](std::int64_t begin, std::int64_t stop) {
        std::memcpy(to + begin, from + begin, static_cast<std::size_t>(stop - begin));
      };
      const auto cleared = [&](std::int64_t begin, std::int64_t stop) {
        std::memset(to + begin, 0, static_cast<std::size_t>(stop - begin));
      };
      if (is_lower) {
        copied(start, middle), cleared(middle, end);
      } else {
        cleared(start, middle), copied(middle, end);
      }
    }
  });
  return result;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("triangle", &triangle, nb::arg("m"), nb::arg("k"), nb::arg("is_lower"),
             "Matrices with zeros above their k-th diagonal, or below it.");
}

}  // namespace morphax::triangles
