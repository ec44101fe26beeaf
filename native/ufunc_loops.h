// Inner loops of NumPy's functions, found by the dtypes of what they read and write.
#pragma once

#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace morphax {

struct UfuncLoop {
  PyUFuncGenericFunction inner = nullptr;  // null: there is none
  void* data = nullptr;
  int result = 0;  // its dtype
};

// The loop of a function of one result that reads exactly these dtypes, one for each operand: it is
// what NumPy chooses for them.  Who includes this has imported NumPy's table of functions.
template <typename Type>
UfuncLoop find_ufunc_loop(const PyUFuncObject& ufunc, const Type* operands) {
  for (int i = 0; i < ufunc.ntypes; ++i) {
    const char* types = ufunc.types + i * ufunc.nargs;
    if (!std::equal(types, types + ufunc.nin, operands)) continue;
    void* data = ufunc.data == nullptr ? nullptr : const_cast<void*>(ufunc.data[i]);
    return {ufunc.functions[i], data, types[ufunc.nin]};
  }
  return {};
}

// That of a function of so many operands that reads and gives numbers of one dtype.
inline UfuncLoop ufunc_loop_of(nanobind::handle given, std::size_t operands, int dtype) {
  if (!PyObject_TypeCheck(given.ptr(), &PyUFunc_Type)) throw nanobind::type_error("no ufunc");
  const auto& ufunc = *reinterpret_cast<PyUFuncObject*>(given.ptr());
  if (ufunc.nout != 1 || static_cast<std::size_t>(ufunc.nin) != operands)
    throw nanobind::value_error("a ufunc of other operands");
  const std::vector<int> dtypes(operands, dtype);
  const UfuncLoop loop = find_ufunc_loop(ufunc, dtypes.data());
  if (loop.inner == nullptr || loop.result != dtype)
    throw nanobind::value_error("a ufunc without a loop of this dtype");
  return loop;
}

// The same of float32.
inline UfuncLoop ufunc_loop_of_floats(nanobind::handle given, std::size_t operands) {
  return ufunc_loop_of(given, operands, NPY_FLOAT);
}

}  // namespace morphax
