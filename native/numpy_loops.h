// The inner loops that NumPy's functions of elements consist of.
#pragma once

#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cstddef>

namespace morphax {

struct NumpyLoop {
  PyUFuncGenericFunction function = nullptr;
  void* data = nullptr;
};

// That of a ufunc from float32 to float32.
inline NumpyLoop numpy_loop_of_floats(nanobind::handle given, std::size_t operands) {
  if (!PyObject_TypeCheck(given.ptr(), &PyUFunc_Type)) throw nanobind::type_error("no ufunc");
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(given.ptr());
  if (ufunc->nout != 1 || static_cast<std::size_t>(ufunc->nin) != operands)
    throw nanobind::value_error("a ufunc of other operands");
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* types = ufunc->types + i * ufunc->nargs;
    if (std::all_of(types, types + ufunc->nargs, [](char type) { return type == NPY_FLOAT; }))
      return {ufunc->functions[i], ufunc->data == nullptr ? nullptr : ufunc->data[i]};
  }
  throw nanobind::value_error("a ufunc without a loop of float32");
}

}  // namespace morphax
