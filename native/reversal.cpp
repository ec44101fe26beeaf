// Copies of arrays that are read backwards along the last axis.
//
// NumPy copies them element by element.  Here rows are turned as vectors.  Its twin is NumPy's
// copy.
#include "reversal.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>

#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::reversal {

namespace {

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_TURN(T)                                                        \
  MORPHAX_VECTORIZED                                                           \
  void turn(const T* __restrict last, std::int64_t count, T* __restrict out) { \
    const T* __restrict first = last - (count - 1);                            \
    for (std::int64_t i = 0; i < count; ++i) out[i] = first[count - 1 - i];    \
  }
MORPHAX_TURN(std::uint8_t)
MORPHAX_TURN(std::uint16_t)
MORPHAX_TURN(std::uint32_t)
MORPHAX_TURN(std::uint64_t)
#undef MORPHAX_TURN

// Where the row of this number begins, in order of the copy.
const char* row_of(PyArrayObject* view, std::int64_t number) {
  const char* place = PyArray_BYTES(view);
  for (int axis = PyArray_NDIM(view) - 1; axis-- > 0;) {
    place += number % PyArray_DIM(view, axis) * PyArray_STRIDE(view, axis);
    number /= PyArray_DIM(view, axis);
  }
  return place;
}

template <typename T>
void run(PyArrayObject* view, PyArrayObject* copy) {
  constexpr std::int64_t kPart = 1 << 13;  // of a row
  const std::int64_t size = PyArray_DIM(view, PyArray_NDIM(view) - 1);
  const std::int64_t elements = PyArray_SIZE(view), parts = (size + kPart - 1) / kPart;
  T* out = static_cast<T*>(PyArray_DATA(copy));
  const process_end::OthersRun others_run;
  in_pieces(elements / size * parts, elements, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t piece = first; piece < end; ++piece) {
      const std::int64_t row = piece / parts, begin = piece % parts * kPart;
      const T* last = reinterpret_cast<const T*>(row_of(view, row)) - begin;
      turn(last, std::min(kPart, size - begin), out + row * size + begin);
    }
  });
}

// A copy of a view of another array.
nb::object reversed_copy(nb::handle given) {
  // A slice of an array without axes is a scalar of NumPy.
  if (!PyArray_Check(given.ptr())) return given.attr("copy")();
  auto* view = reinterpret_cast<PyArrayObject*>(given.ptr());
  const npy_intp item = PyArray_ITEMSIZE(view);
  const int axes = PyArray_NDIM(view);
  const bool is_reversed = axes > 0 && PyArray_SIZE(view) != 0 && PyArray_ISALIGNED(view) &&
                           PyArray_STRIDE(view, axes - 1) == -item &&
                           !PyDataType_REFCHK(PyArray_DESCR(view));
  if (!is_reversed || item > 8 || (item & (item - 1)) != 0)
    return checked(PyArray_NewCopy(view, NPY_CORDER));
  Py_INCREF(PyArray_DESCR(view));
  nb::object out = checked(PyArray_Empty(axes, PyArray_DIMS(view), PyArray_DESCR(view), 0));
  auto* copy = reinterpret_cast<PyArrayObject*>(out.ptr());
  switch (item) {
    case 1:
      run<std::uint8_t>(view, copy);
      break;
    case 2:
      run<std::uint16_t>(view, copy);
      break;
    case 4:
      run<std::uint32_t>(view, copy);
      break;
    default:
      run<std::uint64_t>(view, copy);
  }
  return out;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("reversed_copy", &reversed_copy, nb::arg("view"),
             "A copy of a view that may be read backwards along its last axis.");
}

}  // namespace morphax::reversal
