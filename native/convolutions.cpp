// Convolutions of few numbers.
//
// Of each result it is known which elements of the operands it adds up the products of; the tables
// of their numbers come from `kernel_of_few` in `morphax/lax/window/convolution_numpy.py`, whose
// `convolved` is the twin.
#include "convolutions.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "objects.h"

namespace morphax::convolutions {

namespace {

struct Convolution {
  std::vector<std::int32_t> left, right;  // rows of the numbers of elements, -1 for a zero
  std::vector<std::int32_t> left_rows, right_rows;  // of each result
  std::vector<npy_intp> shape;
  std::size_t terms = 0;
  npy_intp left_size = 0, right_size = 0;
};

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

// Sums of float32 are rounded once.
template <typename T>
void compute(const Convolution& given, const void* x, const void* y, void* out) {
  const auto *left = static_cast<const T*>(x), *right = static_cast<const T*>(y);
  auto* results = static_cast<T*>(out);
  for (std::size_t i = 0; i < given.left_rows.size(); ++i) {
    const std::int32_t* xs = given.left.data() + given.left_rows[i] * given.terms;
    const std::int32_t* ys = given.right.data() + given.right_rows[i] * given.terms;
    double sum = 0;
    for (std::size_t k = 0; k < given.terms; ++k) {
      sum += (xs[k] < 0 ? 0.0 : static_cast<double>(left[xs[k]])) * right[ys[k]];
    }
    results[i] = static_cast<T>(sum);
  }
}

nb::object call_convolution(const Convolution& given, PyObject* const* operands,
                            std::size_t count) {
  if (count != 2) refuse(PyExc_TypeError, "a convolution takes two arrays");
  nb::object arrays[2];
  PyArrayObject* numpy[2];
  for (int i = 0; i < 2; ++i) {
    if (!PyArray_Check(operands[i])) refuse(PyExc_TypeError, "a convolution takes arrays");
    arrays[i] = checked(PyArray_FROM_OF(operands[i], NPY_ARRAY_CARRAY_RO));
    numpy[i] = reinterpret_cast<PyArrayObject*>(arrays[i].ptr());
  }
  const int type = PyArray_TYPE(numpy[0]);
  if (type != PyArray_TYPE(numpy[1]) || (type != NPY_FLOAT && type != NPY_DOUBLE))
    refuse(PyExc_TypeError, "a convolution takes float32 or float64");
  if (PyArray_SIZE(numpy[0]) != given.left_size || PyArray_SIZE(numpy[1]) != given.right_size)
    refuse(PyExc_ValueError, "a convolution of arrays of another size");
  nb::object out = checked(PyArray_EMPTY(static_cast<int>(given.shape.size()),
                                         const_cast<npy_intp*>(given.shape.data()), type, 0));
  void* data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.ptr()));
  const auto run = type == NPY_FLOAT ? &compute<float> : &compute<double>;
  run(given, PyArray_DATA(numpy[0]), PyArray_DATA(numpy[1]), data);
  return out;
}

constexpr const char* kCapsule = "morphax.convolution";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    const auto* given = static_cast<const Convolution*>(PyCapsule_GetPointer(capsule, kCapsule));
    return call_convolution(*given, operands, static_cast<std::size_t>(count));
  });
}

PyMethodDef convolution_method = {
    "convolution", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
    METH_FASTCALL, nullptr};

// The numbers of an int32 array, each from `least` to below `end`.
std::vector<std::int32_t> numbers(nb::handle given, std::int64_t least, std::int64_t end) {
  auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (!PyArray_Check(given.ptr()) || PyArray_TYPE(array) != NPY_INT32 ||
      !PyArray_IS_C_CONTIGUOUS(array))
    refuse(PyExc_TypeError, "a convolution is given by arrays of int32");
  const auto* first = static_cast<const std::int32_t*>(PyArray_DATA(array));
  std::vector<std::int32_t> found(first, first + PyArray_SIZE(array));
  for (std::int32_t number : found) {
    if (number < least || number >= end) refuse(PyExc_IndexError, "no such element");
  }
  return found;
}

nb::object make(nb::handle left, nb::handle right, nb::handle left_rows, nb::handle right_rows,
                std::size_t terms, npy_intp left_size, npy_intp right_size, nb::sequence shape) {
  auto made = std::make_unique<Convolution>();
  if (terms == 0) refuse(PyExc_ValueError, "a convolution without terms");
  made->terms = terms, made->left_size = left_size, made->right_size = right_size;
  made->left = numbers(left, -1, left_size), made->right = numbers(right, 0, right_size);
  const auto rows_of = [&](const std::vector<std::int32_t>& table) {
    return static_cast<std::int64_t>(table.size() / terms);
  };
  made->left_rows = numbers(left_rows, 0, rows_of(made->left));
  made->right_rows = numbers(right_rows, 0, rows_of(made->right));
  std::size_t count = 1;
  for (nb::handle size : shape) {
    made->shape.push_back(nb::cast<npy_intp>(size));
    count *= nb::cast<std::size_t>(size);
  }
  if (made->left_rows.size() != count || made->right_rows.size() != count)
    refuse(PyExc_ValueError, "a convolution of another number of results");
  const nb::object capsule = checked(PyCapsule_New(made.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Convolution*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  made.release();
  return checked(PyCFunction_New(&convolution_method, capsule.ptr()));
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("make", &make);
}

}  // namespace morphax::convolutions
